/** Takes the lock of the folder named on its command line, drops what it got, says so, and keeps it until it is ended. */
import { takeLock } from './lock.ts'

takeLock(process.argv[2] ?? '')
globalThis.gc?.()
process.stdout.write('taken\n')
setInterval(() => {}, 60_000)
