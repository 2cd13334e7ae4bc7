/** A customer's first day with the official client for Node (customers-day.ts), where it and a browser are installed. */
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { withoutBrowser } from '../../test/support/console/browser.ts'

const hasClient = existsSync(new URL('node_modules/openai', import.meta.url))
if (hasClient && withoutBrowser === false) await import('./customers-day.ts')
else {
  const needed = 'the official client for Node is not installed (npm ci --prefix clients/openai-node)'
  const skip = hasClient ? withoutBrowser : needed
  test('a customer’s first day, with the official client', { skip })
}
