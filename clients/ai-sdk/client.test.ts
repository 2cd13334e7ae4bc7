// @suite all – runs a client
// @drives a client
/** Runs the end-to-end test of the AI SDK (end-to-end.ts) if it is installed. */
import { existsSync } from 'node:fs'
import { describe, test } from 'node:test'

if (existsSync(new URL('node_modules/ai', import.meta.url))) await import('./end-to-end.ts')
else {
  const skip = 'not installed (.ci/run installs the locked versions in clients/)'
  describe('AI SDK', () => {
    test('AI SDK – works unchanged', { skip })
  })
}
