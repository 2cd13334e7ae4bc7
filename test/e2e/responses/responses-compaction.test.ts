// @backend both (cluster in long runs)
/** Compaction in the Responses API, by a summary that the relay asks of models which do not speak it. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { readError, waitForRecord } from '../../support/client/responses.ts'
import {
  compact,
  parseResponsesEvents,
  postResponses,
  responsesRequest,
  streamResponse,
  type ResponseItem,
} from '../../support/client/responses-api.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { replay } from '../../support/upstream/provider-recordings.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

interface Compacted {
  object: string
  output: ResponseItem[]
  usage: Record<string, unknown>
}

const server = await sharedTestServer()
const prices = { input: '0.002', output: '0.008' }
const alice = await server.account({ balance: '¥10' })
const bob = await server.account({ balance: '¥10' })
const trigger = { type: 'compaction_trigger' }
const conversation = [
  { role: 'developer', content: 'Be careful.' },
  { role: 'user', content: 'Fix the bug in parser.ts.' },
  { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'of-openai' },
  { type: 'function_call', call_id: 'call_1', name: 'shell', arguments: '{"command":"cat parser.ts"}' },
  { type: 'function_call_output', call_id: 'call_1', output: 'export const parse = 1' },
  { type: 'function_call', call_id: 'call_2', name: 'shell', arguments: '{"command":"npm test"}' },
  { role: 'user', content: [{ type: 'input_text', text: 'Continue.' }] },
]
const tools = [{ type: 'function', name: 'shell', parameters: { type: 'object', properties: {} } }]
const kinds = ['openai', 'anthropic'] as const
const summary = 'Hello, world.'

function sealedIn(items: readonly ResponseItem[]): string {
  const item = items.find(({ type }) => type === 'compaction')
  assert.ok(item)
  assert.match(item.id, /^cmp_/)
  return String(item['encrypted_content'])
}

const upstreams = Object.fromEntries(
  await Promise.all(
    kinds.map(async (kind) => {
      const script = kind === 'openai' ? respondWith(summary, { input: 20, output: 4 }) : replay(kind, 'text')
      const upstream = await server.upstream(script, { provider: kind, speaks: [] })
      upstream.strict(kind)
      await server.model(kind, { upstreams: [upstream], prices })
      return [kind, upstream] as const
    }),
  ),
)
const { openai: chat } = upstreams
assert.ok(chat)

for (const kind of kinds) {
  const upstream = upstreams[kind]
  assert.ok(upstream)

  describe(`Compaction (${kind})`, () => {
    test('compact – returns the user’s messages and a sealed summary, charged once', async () => {
      const response = await compact(alice, responsesRequest(kind, { input: conversation, tools }))
      assert.equal(response.status, 200, await response.clone().text())
      const { object, output, usage } = (await response.json()) as Compacted
      assert.equal(object, 'response.compaction')
      assert.deepEqual(
        output.map(({ type, role, content }) => [type, role, content]),
        [
          ['message', 'user', [{ type: 'input_text', text: 'Fix the bug in parser.ts.' }]],
          ['message', 'user', [{ type: 'input_text', text: 'Continue.' }]],
          ['compaction', undefined, undefined],
        ],
      )
      assert.doesNotMatch(sealedIn(output), /Hello/)
      assert.deepEqual([usage['input_tokens'], usage['output_tokens']], [20, 4])
      const sent = upstream.requests.at(-1)?.text ?? ''
      assert.match(sent, /cat parser\.ts/)
      assert.match(sent, /export const parse = 1/)
      assert.match(sent, /Write a summary/)
      assert.doesNotMatch(sent, /"tools"|of-openai/)
      const record = await waitForRecord(alice, response)
      assert.deepEqual([record.operation, record.outcome, record.cost], ['responses', 'ok', '0.000072'])
      assert.equal(response.headers.get('x-sluice-cost'), record.cost)
    })

    test('compaction_trigger – yields one item, streaming or not, which the next request explains', async () => {
      const body = responsesRequest(kind, { input: [...conversation, trigger], tools })
      const plain = await postResponses(alice, body)
      const { output } = (await plain.json()) as Compacted
      assert.deepEqual(
        output.map(({ type }) => type),
        ['compaction'],
      )
      const streamed = await streamResponse(alice, body)
      assert.deepEqual(
        streamed.output.map(({ type }) => type),
        ['compaction'],
      )
      const next = { role: 'user', content: 'Go on.' }
      const input = [{ role: 'user', content: 'Fix it.' }, ...streamed.output, next]
      const response = await postResponses(alice, responsesRequest(kind, { input }))
      assert.equal(response.status, 200, await response.clone().text())
      const sent = upstream.requests.at(-1)?.text ?? ''
      assert.match(sent, /summary of the earlier conversation:\\n\\nHello, world\./)
      assert.ok(!sent.includes(sealedIn(streamed.output)))
    })
  })
}

describe('Compaction by the relay', () => {
  async function sealed(): Promise<string> {
    const response = await compact(alice, responsesRequest('openai', { input: conversation }))
    return sealedIn(((await response.json()) as Compacted).output)
  }

  test('Streamed trigger – sends the item, and the response when it is charged', async () => {
    const body = responsesRequest('openai', { input: [...conversation, trigger], stream: true })
    const response = await postResponses(alice, body)
    const events = parseResponsesEvents(await response.text())
    assert.deepEqual(
      events.map(({ type }) => type),
      [
        'response.created',
        'response.in_progress',
        'response.output_item.added',
        'response.output_item.done',
        'response.completed',
      ],
    )
    assert.equal((await waitForRecord(alice, response)).cost, '0.000072')
  })

  test('Item of another account, or changed – is 400 naming it', async () => {
    const own = await sealed()
    const other = own.at(-3) === 'A' ? 'B' : 'A'
    for (const [account, encrypted] of [
      [bob, own],
      [alice, own.slice(0, -3) + other + own.slice(-2)],
      [alice, own.slice(0, 20)],
    ] as const) {
      const said = ['Hi', 'Ho'].map((content) => ({ role: 'user', content }))
      const input = [...said, { type: 'compaction', encrypted_content: encrypted }]
      const response = await postResponses(account, responsesRequest('openai', { input }))
      const { code, param } = await readError(response)
      assert.deepEqual([response.status, code, param], [400, 'invalid_encrypted_content', 'input[2]'])
    }
  })

  test('Item of a provider – is 400 on a translated route', async () => {
    const input = [
      { role: 'user', content: 'Hi' },
      { type: 'compaction', encrypted_content: 'gAAAA' },
    ]
    const response = await postResponses(alice, responsesRequest('openai', { input }))
    assert.deepEqual([response.status, (await readError(response)).param], [400, 'input[1].type'])
  })

  test('Second compaction – summarizes the first one', async () => {
    const input = [
      { role: 'user', content: 'Hi' },
      { type: 'compaction', encrypted_content: await sealed() },
    ]
    const response = await compact(alice, responsesRequest('openai', { input }))
    const { output } = (await response.json()) as Compacted
    assert.deepEqual(
      output.map(({ type }) => type),
      ['message', 'compaction'],
    )
    assert.match(chat.requests.at(-1)?.text ?? '', /earlier conversation:\\n\\nHello, world\./)
  })

  test('Trigger that is not the last item – is 400 naming it', async () => {
    const response = await postResponses(
      alice,
      responsesRequest('openai', { input: [trigger, { role: 'user', content: 'Hi' }] }),
    )
    assert.deepEqual([response.status, (await readError(response)).param], [400, 'input[0]'])
  })

  test('compact – requires a model and an input, and stores nothing', async () => {
    for (const [body, param] of [
      [{ input: 'Hi' }, 'model'],
      [{ model: 'openai' }, 'input'],
      [{ model: 'openai', input: 'Hi', previous_response_id: 'resp_1' }, 'previous_response_id'],
    ] as const) {
      const response = await compact(alice, body)
      assert.deepEqual([response.status, (await readError(response)).param], [400, param])
    }
    const unknown = await compact(alice, responsesRequest('openai-compact'))
    assert.equal(unknown.status, 404)
  })

  test('Idempotency-Key – compacts once', async () => {
    const body = responsesRequest('openai', { input: conversation })
    const headers = { 'idempotency-key': 'compaction-1' }
    const first = await compact(alice, body, headers)
    const calls = chat.requests.length
    const second = await compact(alice, body, headers)
    assert.equal(await second.text(), await first.text())
    assert.equal(chat.requests.length, calls)
  })
})
