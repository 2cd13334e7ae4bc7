// @backend both (cluster in long runs)
/** Long conversations with tools, and what nobody here knows, in the Responses API. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { waitForRecord } from '../../support/client/responses.ts'
import {
  assembleResponse,
  parseResponsesEvents,
  postResponses,
  responsesRequest,
  streamResponse,
} from '../../support/client/responses-api.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import type { Script } from '../../support/upstream/exchange.ts'
import {
  messageItem,
  nativeEvents,
  nativeResponse,
  respondNatively,
} from '../../support/upstream/native-responses.ts'
import { respondWith, respondWithEvents } from '../../support/upstream/scripted-responses.ts'

type Fields = Record<string, unknown>

const server = await sharedTestServer()
const prices = { input: '0.002', output: '0.008' }
const alice = await server.account({ balance: '10' })
const turns = 30
const tools = [
  {
    type: 'function',
    name: 'lookup',
    parameters: { type: 'object', properties: { n: { type: 'integer' } } },
  },
  { type: 'custom', name: 'patch', description: 'Applies a patch.' },
]

let calls = 0

/** Two calls in each turn, until the last one. */
const chatting: Script = (exchange) => {
  const messages = exchange.request.json['messages'] as Fields[]
  const done = messages.filter(({ role }) => role === 'tool').length / 2
  if (done === turns) return respondWith(`Done after ${done} turns.`, { input: 20, output: 4 })(exchange)
  const toolCalls = [
    { id: `call_${++calls}`, name: 'lookup', arguments: `{"n":${done}}` },
    { id: `call_${++calls}`, name: 'patch', arguments: JSON.stringify({ input: `*** ${done}` }) },
  ]
  return respondWith('', { input: 20, output: 4 }, { toolCalls })(exchange)
}

const chat = await server.upstream(chatting, { provider: 'openai', speaks: [] })
chat.strict('openai')
await server.model('chat', { upstreams: [chat], prices })
const native = await server.upstream(respondNatively('Hello.'), { speaks: ['responses'] })
await server.model('native', { upstreams: [native], prices })

describe('Conversations in the Responses API', () => {
  test('thirty turns – keep parallel and custom calls with their results', async () => {
    const input: Fields[] = [{ role: 'user', content: 'Go.' }]
    for (let turn = 0; turn <= turns; turn++) {
      const { output } = await streamResponse(alice, { ...responsesRequest('chat', { tools }), input })
      if (turn === turns) {
        assert.match(JSON.stringify(output), /Done after 30 turns\./)
        break
      }
      const [lookup, patch] = output
      assert.deepEqual([lookup?.type, lookup?.['arguments']], ['function_call', `{"n":${turn}}`])
      assert.deepEqual([patch?.type, patch?.['input']], ['custom_tool_call', `*** ${turn}`])
      const result = (item: Fields | undefined, type: string): Fields => ({
        type,
        call_id: item?.['call_id'],
        output: `result ${turn}`,
      })
      input.push(...output, result(lookup, 'function_call_output'), result(patch, 'custom_tool_call_output'))
    }
  })

  test('parallel calls whose pieces alternate – keep their arguments apart', async () => {
    const piece = (index: number, fields: Fields): Fields => ({ tool_calls: [{ index, ...fields }] })
    const begin = (index: number, name: string): Fields =>
      piece(index, { id: `call_${name}`, type: 'function', function: { name, arguments: '' } })
    const more = (index: number, text: string): Fields => piece(index, { function: { arguments: text } })
    const deltas = [
      begin(0, 'a'),
      begin(1, 'b'),
      more(0, '{"x":'),
      more(1, '{"y":'),
      more(0, '1}'),
      more(1, '2}'),
    ]
    const chunks = [
      ...deltas.map((delta) => ({ delta, finish_reason: null })),
      { delta: {}, finish_reason: 'tool_calls' },
    ]
    const payloads = chunks.map((choice) =>
      JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, ...choice }] }),
    )
    chat.next(respondWithEvents([...payloads, '[DONE]']))
    const response = await postResponses(alice, responsesRequest('chat', { tools, stream: true }))
    const { output } = assembleResponse(parseResponsesEvents(await response.text()))
    assert.deepEqual(
      output.map(({ call_id: id, arguments: text }) => [id, text]),
      [
        ['call_a', '{"x":1}'],
        ['call_b', '{"y":2}'],
      ],
    )
  })

  test('unknown items, tools and fields – pass to an upstream of the API byte for byte', async () => {
    const unknown = '{"type":"new_item", "n":1.0, "big":12345678901234567890,"text":"\\u00e9\\/"}'
    const tool = '{"type":"function","name":"f", "extra" : {"a":[1 , 2]}}'
    const body = `{"model":"native","input":[{"role":"user","content":"Hi"}, ${unknown}],"tools":[${tool}],"new_field":1e2,"max_output_tokens":100}`
    assert.equal((await postResponses(alice, body)).status, 200)
    const sent = native.requests.at(-1)?.text ?? ''
    assert.equal(sent.replace(',"store":false}', '}'), body)
  })

  test('The usage of a stream that is incomplete or fails is its invoice', async () => {
    const events = nativeEvents([messageItem('Hello.')])
    const usage = { input_tokens: 1000, output_tokens: 500, total_tokens: 1500 }
    const end = (status: string, fields: Fields) => {
      const type = `response.${status}`
      const response = nativeResponse([messageItem('Hello.')], { status, usage, ...fields })
      const payload = JSON.stringify({ type, sequence_number: events.length - 1, response })
      return respondWithEvents([...events.slice(0, -1), { name: type, payload }])
    }
    native.next(
      end('incomplete', { incomplete_details: { reason: 'max_output_tokens' } }),
      end('failed', { error: { code: 'server_error', message: 'Sorry.' } }),
    )
    const body = responsesRequest('native', { stream: true, max_output_tokens: 500 })
    const incomplete = await postResponses(alice, body)
    assert.match(await incomplete.text(), /"response\.incomplete"/)
    const charged = await waitForRecord(alice, incomplete)
    assert.deepEqual([charged.completion_tokens, charged.usage_source], [500, 'provider'])
    const failed = await postResponses(alice, body)
    assert.match(await failed.text(), /"response\.failed"/)
    const received = await waitForRecord(alice, failed)
    assert.deepEqual([received.usage_source, received.outcome], ['provider', 'truncated'])
    assert.deepEqual([received.prompt_tokens, received.completion_tokens], [1000, 500])
  })
})
