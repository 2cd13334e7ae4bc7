#!/usr/bin/env node
// The command `sluice`. Node.js runs the TypeScript under src/ directly. This file, in syntax that old versions
// understand, checks the version of Node.js and enables the compile cache.
import module from 'node:module'
import { fileURLToPath } from 'node:url'
import { nodeVersionProblem } from './node-version.js'

if (nodeVersionProblem !== null) {
  console.error(`Sluice cannot start: ${nodeVersionProblem}`)
  process.exit(1)
}

// In the program's own folder, not in the shared /tmp, where others could plant code. Threads read the variable.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(
  new URL('../node_modules/.cache/compile', import.meta.url),
)
module.enableCompileCache(process.env['NODE_COMPILE_CACHE'])

await import('../src/lib/relative-imports.ts')
await import('../src/main.ts')
