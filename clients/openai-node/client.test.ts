/** The stories of the official client for Node (stories.ts), wherever its folder is installed. */
import { existsSync } from 'node:fs'
import { test } from 'node:test'

if (existsSync(new URL('node_modules/openai', import.meta.url))) await import('./end-to-end.ts')
else {
  const skip = 'the official client for Node is not installed (npm ci --prefix clients/openai-node)'
  test('the official client for Node works unchanged', { skip })
}
