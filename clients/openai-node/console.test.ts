// @suite all – runs an official client and a browser
// @drives a browser
/** A customer's first day with the official client for Node (customers-day.ts), where it and a browser are installed. */
import { existsSync } from 'node:fs'
import { describe, test } from 'node:test'
import { browserSkipReason } from '../../test/support/console/browser.ts'

const hasClient = existsSync(new URL('node_modules/openai', import.meta.url))
if (hasClient && browserSkipReason === false) await import('./console-customer.ts')
else {
  const needed = 'OpenAI’s client for Node is not installed (npm ci --prefix clients/openai-node)'
  const skip = hasClient ? browserSkipReason : needed
  describe('Customer with the OpenAI client', () => {
    test('Customer – signs up, pays and calls with the official client', { skip })
  })
}
