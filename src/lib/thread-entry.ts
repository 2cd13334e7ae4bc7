/** The first module of every thread that `startThread` starts: its last argument is the URL of the module to run. */
import './relative-imports.ts'

await import(process.argv.at(-1) ?? '')
