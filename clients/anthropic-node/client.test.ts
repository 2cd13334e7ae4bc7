/** The stories of Anthropic's official client for Node (stories.ts), wherever its folder is installed. */
import { existsSync } from 'node:fs'
import { test } from 'node:test'

if (existsSync(new URL('node_modules/@anthropic-ai/sdk', import.meta.url))) await import('./end-to-end.ts')
else {
  const skip = 'Anthropic’s client for Node is not installed (npm ci --prefix clients/anthropic-node)'
  test('Anthropic’s official client for Node works unchanged', { skip })
}
