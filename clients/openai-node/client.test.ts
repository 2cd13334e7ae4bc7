/** Runs the end-to-end test of OpenAI's official client for Node (end-to-end.ts) if the client is installed. */
import { existsSync } from 'node:fs'
import { describe, test } from 'node:test'

if (existsSync(new URL('node_modules/openai', import.meta.url))) await import('./end-to-end.ts')
else {
  const skip = 'OpenAI’s client for Node is not installed (npm ci --prefix clients/openai-node)'
  describe('OpenAI client for Node', () => {
    test('OpenAI client for Node – works unchanged', { skip })
  })
}
