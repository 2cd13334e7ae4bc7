// Has Node keep what it compiles of the relay, so that the first start after `npm ci` is as quick as any later one.
// Nothing depends on it: where it cannot be done, the first start does it.
import module from 'node:module'
import { fileURLToPath } from 'node:url'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

if (major > 24 || (major === 24 && minor >= 15)) {
  // As bin/sluice.js has it.
  const folder = fileURLToPath(new URL('../node_modules/.cache/compile', import.meta.url))
  module.enableCompileCache(process.env['NODE_COMPILE_CACHE'] ?? folder)
  // The main thread's, then what workers have beside it; their own file would start one.
  const rooms = [
    'cli/serve.ts',
    'server/serve.ts',
    'http/doors.ts',
    'http/fast-lane.ts',
    'http/administration.ts',
    'relay/relay.ts',
  ]
  for (const room of rooms) {
    try {
      await import(new URL(`../src/${room}`, import.meta.url).href)
    } catch {
      // Left to the first start.
    }
  }
}
