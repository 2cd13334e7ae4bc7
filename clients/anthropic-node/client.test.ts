// @suite all – runs an official client
/** Runs the end-to-end test of Anthropic's official client for Node (end-to-end.ts) if the client is installed. */
import { existsSync } from 'node:fs'
import { describe, test } from 'node:test'

if (existsSync(new URL('node_modules/@anthropic-ai/sdk', import.meta.url))) await import('./end-to-end.ts')
else {
  const skip = 'Anthropic’s client for Node is not installed (npm ci --prefix clients/anthropic-node)'
  describe('Anthropic client for Node', () => {
    test('Anthropic client for Node – works unchanged', { skip })
  })
}
