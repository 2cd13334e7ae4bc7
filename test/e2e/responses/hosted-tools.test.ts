// @backend both (cluster in long runs)
/** Tools that the provider runs, in the Responses API: priced by the call, or rejected. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Account } from '../../support/server/account.ts'
import { readError, waitForRecord } from '../../support/client/responses.ts'
import { parseResponsesEvents, postResponses, responsesRequest } from '../../support/client/responses-api.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { truncateAfter } from '../../support/upstream/fault-injection.ts'
import {
  callItem,
  nativeEvents,
  messageItem,
  respondWithItems,
} from '../../support/upstream/native-responses.ts'
import { respondWith, respondWithEvents } from '../../support/upstream/scripted-responses.ts'

const message = messageItem('Found.')

type Fields = Record<string, unknown>

const server = await sharedTestServer()
const calls = [
  callItem('file_search_call'),
  callItem('file_search_call'),
  callItem('web_search_call', { action: { type: 'search', query: 'q' } }),
  callItem('web_search_call', { action: { type: 'open_page', url: 'https://example.com' } }),
  callItem('mcp_list_tools'),
  callItem('function_call', { call_id: 'call_1', name: 'f', arguments: '{}' }),
]

const native = await server.upstream(respondWithItems([message]), { provider: 'openai' })
const prices = { input: '0.001', output: '0.001', per_tool_call: { file_search: '0.1', web_search: '0.3' } }
await server.model('tools', { upstreams: [native], prices })
await server.model('plain', { upstreams: [native], prices: ['0.001', '0.001'] })
const account = await server.account({ balance: '100' })
const search = { type: 'web_search_preview_2025_03_11' }
const fileSearch = { type: 'file_search', vector_store_ids: ['vs_1'] }

async function recordOf(caller: Account, response: Response) {
  const { request_id: id } = await waitForRecord(caller, response)
  return server.admin<{
    cost: string
    units: Fields
    searches: number
    clamped: boolean
    bill: { hold: string; lines: { kind: string; tool?: string; count: number; amount: string }[] }
  }>('GET', `/requests/${id}`)
}

describe('Tools that the provider runs', () => {
  for (const stream of [false, true]) {
    test(`with a price – are sent, and each call is charged, stream ${stream}`, async () => {
      native.next(respondWithItems([...calls, message]))
      const body = responsesRequest('tools', { stream, tools: [fileSearch, search] })
      const response = await postResponses(account, body)
      assert.equal(response.status, 200, await response.clone().text())
      await response.text()
      assert.deepEqual(native.requests.at(-1)?.json['tools'], [fileSearch, search])
      const { cost, units, searches, bill } = await recordOf(account, response)
      assert.deepEqual(units, { tool_calls: { file_search: 2, web_search: 1 } })
      assert.deepEqual([cost, searches], ['0.500024', 0])
      const fees = bill.lines.filter(({ kind }) => kind === 'tool')
      assert.deepEqual(
        fees.map(({ tool, count, amount }) => [tool, count, amount]),
        [
          ['file_search', 2, '0.2'],
          ['web_search', 1, '0.3'],
        ],
      )
    })
  }

  test('calls of a tool that the request does not offer – are not charged', async () => {
    native.next(respondWithItems([...calls, message]))
    const response = await postResponses(account, responsesRequest('tools', { tools: [fileSearch] }))
    await response.text()
    const { cost, units } = await recordOf(account, response)
    assert.deepEqual([cost, units], ['0.200024', { tool_calls: { file_search: 2 } }])
  })

  test('more calls than max_tool_calls – are charged up to it', async () => {
    native.next(respondWithItems([...calls, message]))
    const fields = { tools: [fileSearch], max_tool_calls: 1, max_output_tokens: 16 }
    const response = await postResponses(account, responsesRequest('tools', fields))
    await response.text()
    const { cost, clamped, bill } = await recordOf(account, response)
    assert.deepEqual([cost, clamped], ['0.100024', true])
    assert.ok(Number(bill.hold) < 0.2, bill.hold)
  })

  test('without a price – a search is left out, another tool is 400 by its position', async () => {
    const response = await postResponses(account, responsesRequest('plain', { tools: [search] }))
    assert.equal(response.status, 200, await response.text())
    assert.deepEqual(native.requests.at(-1)?.json['tools'], [])
    const sent = native.requests.length
    const tools = [search, { type: 'code_interpreter', container: { type: 'auto' } }]
    for (const model of ['plain', 'tools']) {
      const refused = await postResponses(account, responsesRequest(model, { tools }))
      assert.equal(refused.status, 400)
      assert.equal((await readError(refused)).param, 'tools[1]')
    }
    assert.equal(native.requests.length, sent)
  })

  test('non-streaming – holds ten calls of the dearest tool, which must be paid for', async () => {
    const poor = await server.account({ balance: '2.9' })
    const ask = (fields: Fields) =>
      postResponses(poor, responsesRequest('tools', { tools: [search], ...fields }))
    assert.equal((await ask({})).status, 402)
    const allowed = await ask({ max_tool_calls: 9 })
    assert.equal(allowed.status, 200, await allowed.text())
  })

  test('stream – holds the next call as each appears, and ends when it cannot be paid', async () => {
    const poor = await server.account({ balance: '0.75' })
    const many = Array.from({ length: 6 }, () => callItem('web_search_call'))
    const events = nativeEvents([...many, message])
    native.next(truncateAfter(events.length - 4, 'hang', respondWithEvents(events)))
    const response = await postResponses(poor, responsesRequest('tools', { stream: true, tools: [search] }))
    const received = parseResponsesEvents(await response.text())
    const last: Fields = received.at(-1) ?? {}
    assert.equal(last['type'], 'response.failed')
    assert.equal((last['response'] as { error: { code: string } }).error.code, 'insufficient_quota')
    const { units, cost } = await recordOf(poor, response)
    assert.deepEqual(units, { tool_calls: { web_search: 2 } })
    assert.ok(Number(cost) >= 0.6 && Number(cost) <= 0.75, cost)
  })

  test('upstreams without the Responses API – take no such tool', async () => {
    const chat = await server.upstream(respondWith('Hi'), { provider: 'vllm' })
    await server.model('translated', { upstreams: [chat], prices })
    const refused = await postResponses(account, responsesRequest('translated', { tools: [fileSearch] }))
    assert.equal(refused.status, 400)
    assert.equal((await readError(refused)).param, 'tools[0]')
    assert.equal(chat.requests.length, 0)
  })
})
