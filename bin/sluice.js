#!/usr/bin/env node
// The command `sluice`. Node.js runs the TypeScript under src/ directly. This file, in syntax that old versions
// understand, checks the version of Node.js and enables the compile cache.
import module from 'node:module'
import { fileURLToPath } from 'node:url'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

if (major < 24 || (major === 24 && minor < 15)) {
  console.error(
    `sluice needs Node.js 24.15 or newer, and this is ${process.version}: run \`npm ci\` once, then \`npm start\` or ` +
      '`npx sluice`, which use the Node.js version that npm ci installed.',
  )
  process.exit(1)
}

// In the program's own folder, not in the shared /tmp, where others could plant code. Threads read the variable.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(
  new URL('../node_modules/.cache/compile', import.meta.url),
)
module.enableCompileCache(process.env['NODE_COMPILE_CACHE'])

await import('../src/lib/relative-imports.ts')
await import('../src/main.ts')
