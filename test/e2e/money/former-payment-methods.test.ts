// @backend both
/** Orders of payment methods that are no longer configured: nobody can be asked about them, and nothing is lost. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { PaymentOrder } from '../../../src/http/api/payment-orders.ts'
import { expectError, expectResponse } from '../../support/client/admin-api.ts'
import { PaymentSteps } from '../../support/payments/payment-steps.ts'
import { settingsOf, startProvider } from '../../support/payments/providers.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'

const provider = await startProvider.stripe()
after(() => provider[Symbol.asyncDispose]())
const env: Record<string, string> = {
  ...settingsOf([provider]),
  BANK_TRANSFER: 'Sluice Ltd',
  BANK_ACCOUNT: '6222000012345678',
}
const unset = Object.fromEntries(Object.keys(env).map((name) => [name, '']))
const server = await sharedTestServer({ env })
const steps = new PaymentSteps(server)

describe('Former payment methods', () => {
  test('Orders of a former method – are read and canceled here, not refunded or confirmed', async () => {
    const account = await server.account()
    const bankOrder = await expectResponse<PaymentOrder>(server, 201, [
      'POST',
      `/accounts/${account.id}/orders`,
      { method: 'bank', amount: '10' },
    ])
    const paid = await steps.paidOrder(provider, account)
    const open = await steps.order(provider, account)
    await server.restart(unset)
    const checked = await expectResponse(server, 200, ['POST', `/orders/${open.id}/check`])
    assert.equal(checked['state'], 'pending')
    const canceled = await expectResponse(server, 200, ['POST', `/orders/${open.id}/cancel`])
    assert.equal(canceled['state'], 'canceled')
    await expectError(server, 409, ['POST', `/orders/${paid.id}/refunds`, { reason: 'unused' }])
    const transfer = { received: '10', transaction: 'B-1', date: '2026-11-28' }
    await expectError(server, 409, ['POST', `/orders/${bankOrder.id}/confirm`, transfer])
    assert.equal(await account.balance(), '10')
  })
})
