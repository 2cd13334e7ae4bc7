// @backend both
/** Text that a store cannot keep is rejected before it can become part of the ledger. */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { requestControl } from '../../../src/process/control-socket.fixture.ts'
import { expectError, expectResponse, type List } from '../../support/client/admin-api.ts'
import { ConsoleSession } from '../../support/console/console-session.ts'
import { chatRequest } from '../../support/server/account.ts'
import { commandLineFor } from '../../support/server/command-line.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWithJson } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer()
const credit = { amount: '1', reason: 'thank you 😀', idempotency_key: '谢谢' }
/** `JSON.stringify` sends them as escapes, such as `\ud83d`. */
const invalidTexts = ['thank you \ud83d', 'thank\0you', '\ude00']

describe('Text that is not valid', () => {
  test('Credit – is rejected with 400; the ledger verifies and a backup works', async () => {
    const { id } = await server.account()
    const path = `/accounts/${id}/credits`
    for (const text of invalidTexts) {
      for (const field of ['reason', 'idempotency_key'])
        assert.equal(await expectError(server, 400, ['POST', path, { ...credit, [field]: text }]), field)
    }
    await expectResponse(server, 201, ['POST', path, credit])
    const { data } = await expectResponse<List>(server, 200, ['GET', `/accounts/${id}/entries`])
    assert.deepEqual(
      data.map((entry) => [entry['reason'], entry['reference']]),
      [['thank you 😀', `credit:${id}:谢谢`]],
    )
    assert.equal((await server.verify()).ok, true)
    const folder = `${server.dataDir}-backup`
    await commandLineFor(server.relay).output(['backup', folder])
    await rm(folder, { recursive: true })
  })

  test('Any field of the admin API, the control socket and the console – is rejected with 400', async () => {
    const { id } = await server.account()
    for (const text of invalidTexts) {
      for (const [path, field, body] of [
        ['/requests/req_x/refund', 'reason', { reason: text }],
        ['/accounts', 'name', { email: 'new@example.com', name: text }],
        [`/accounts/${id}/keys`, 'name', { name: text }],
        ['/promotions', 'name', { name: text, amount: '1' }],
        ['/models', 'routes[0].model', modelWith(text)],
      ] as const) {
        assert.equal(await expectError(server, 400, ['POST', path, body]), field)
      }
      const request = { method: 'POST', path: `/api/admin/accounts/${id}/credits` }
      const response = await requestControl(server.dataDir, { ...request, body: { ...credit, reason: text } })
      assert.match(response.text, /"param":"reason"/)
      const session = new ConsoleSession(server.url)
      const signIn = await session.fetch('POST', '/api/console/sign-in', { email: text, password: 'x' })
      assert.equal(signIn.status, 400)
      assert.match(await signIn.text(), /"param":"email"/)
    }
  })

  test('Query with bytes that are no UTF-8 – is rejected with 400; a percent sign is text', async () => {
    for (const query of ['account=%ED%A0%80', 'account=acc_%FF'])
      assert.equal(await expectError(server, 400, ['GET', `/orders?${query}`]), 'account')
    await expectResponse(server, 200, ['GET', `/orders?account=100%25&q=100%&state=paid`])
  })

  test('Finish reason of an upstream – is stored as valid text of at most 64 characters', async () => {
    const finish = `stop \ud83d${'x'.repeat(100_000)}`
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi!' }, finish_reason: finish }]
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
    const upstream = await server.upstream(respondWithJson(200, { choices, usage }))
    await server.model('chatty', { upstreams: [upstream] })
    const account = await server.account({ balance: '1' })
    const response = await account.post(chatRequest('chatty'))
    assert.equal(response.status, 200)
    await response.arrayBuffer()
    const [record] = await server.requests({ account: account.id })
    assert.equal(record?.finish, `stop \ufffd${'x'.repeat(58)}`)
  })
})

function modelWith(upstreamModel: string): object {
  const prices = { input: '0.001', output: '0.001' }
  return { id: 'one', context_tokens: 1000, prices, routes: [{ upstream: 'u', model: upstreamModel }] }
}
