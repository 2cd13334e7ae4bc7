// Fills the compile cache, so that the first start after `npm ci` is as fast as later ones. Optional: if it fails, the
// first start fills the cache.
import module from 'node:module'
import { fileURLToPath } from 'node:url'
import { nodeVersionProblem } from './node-version.js'

if (nodeVersionProblem === null) {
  // The same folder as in bin/sluice.js.
  const folder = fileURLToPath(new URL('../node_modules/.cache/compile', import.meta.url))
  module.enableCompileCache(process.env['NODE_COMPILE_CACHE'] ?? folder)
  // Modules of the main thread, of workers and of the store thread. Importing the worker's own file would start a worker.
  const modules = [
    'cli/commands/serve.ts',
    'process/serve.ts',
    'http/router.ts',
    'http/server/fast-path.ts',
    'http/server/hono-listener.ts',
    'relay/relay.ts',
    'usage/rollups/rollup.ts',
  ]
  for (const path of modules) {
    try {
      await import(new URL(`../src/${path}`, import.meta.url).href)
    } catch {
      // The first start compiles it.
    }
  }
}
