// @backend both (cluster in long runs)
/** The image tool of the Responses API: its calls by quality and size, or its tokens. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Bill } from '../../../src/http/api/request-bill.ts'
import { readResponse, readStreamPayloads } from '../../../src/providers/contract.fixture.ts'
import type { Account, RequestRecord } from '../../support/server/account.ts'
import { waitForRecord } from '../../support/client/responses.ts'
import { postResponses, responsesRequest } from '../../support/client/responses-api.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWithEvents, respondWithJson } from '../../support/upstream/scripted-responses.ts'
import { callItem, messageItem, respondWithItems } from '../../support/upstream/native-responses.ts'

const message = messageItem('Found.')

type Fields = Record<string, unknown>

const server = await sharedTestServer()
const upstream = await server.upstream(respondWithItems([message]), { provider: 'openai' })
const account = await server.account({ balance: '100' })
const image = (fields: Fields = {}): Fields =>
  callItem('image_generation_call', { result: 'UklGRg==', ...fields })
const tool = (fields: Fields = {}): Fields => ({ type: 'image_generation', ...fields })
const plain = { input: '0.001', output: '0.001' }
const classes = [
  { quality: 'high', size: '1536x1024', amount: '0.25' },
  { quality: 'high', amount: '0.2' },
  { quality: 'low', size: '1024x1024', amount: '0.01' },
  { size: '1024x1024', amount: '0.05' },
]
/** With a class for any image. */
const withRest = [...classes, { amount: '0.1' }]
await server.model('by-class', {
  upstreams: [upstream],
  prices: { ...plain, per_tool_call: { image_generation: withRest, file_search: '0.02' } },
})
await server.model('strict', {
  upstreams: [upstream],
  prices: { ...plain, per_tool_call: { image_generation: classes } },
})
await server.model('flat', {
  upstreams: [upstream],
  prices: { ...plain, per_tool_call: { image_generation: '0.3' } },
})
const tokenPrices = { ...plain, input_image: '0.01', output_image: '0.04' }
await server.model('by-token', { upstreams: [upstream], prices: tokenPrices })
await server.model('by-both', {
  upstreams: [upstream],
  prices: { ...tokenPrices, per_tool_call: { image_generation: withRest } },
})
const stated = { tool_usage: { image_gen: { input_tokens: 50, output_tokens: 300 } } }

const recordings = join(process.env['RECORDINGS_DIR'] ?? '', 'responses')
const recording = 'openai-image-generation-tool.1'
const isRecorded = existsSync(join(recordings, `${recording}.json`))

/** The record of a request, whose bill adds up. */
async function recordOf(caller: Account, response: Response) {
  const { request_id: id } = await waitForRecord(caller, response)
  const record = await server.admin<RequestRecord & { bill: Bill; units: Fields }>('GET', `/requests/${id}`)
  const { lines, sum, charged } = record.bill
  const amounts = lines.reduce((total, { amount }) => total + Number(amount), 0)
  assert.ok(Math.abs(amounts - Number(sum)) < 1e-9, JSON.stringify(record.bill))
  assert.equal(charged, record.cost)
  return record
}

interface ImageResponse {
  readonly items: readonly Fields[]
  readonly tools?: readonly Fields[]
  readonly more?: Fields
  readonly fields?: Fields
}

/** What a response with these items is charged. */
async function charged(model: string, { items, tools = [tool()], more = {}, fields = {} }: ImageResponse) {
  upstream.next(respondWithItems([...items, message], more))
  const response = await postResponses(account, responsesRequest(model, { tools, ...fields }))
  assert.equal(response.status, 200, await response.clone().text())
  await response.text()
  return recordOf(account, response)
}

/** The cost without that of the text: 24 tokens. */
const feeOf = ({ cost }: RequestRecord): number => Number((Number(cost) - 0.000024).toFixed(9))

for (const stream of [false, true]) {
  describe(`Image tool, ${stream ? 'stream' : 'non-streaming'}`, () => {
    test('class – is that of the response, else of the request; the first that matches', async () => {
      for (const [made, asked, fee] of [
        [{ quality: 'high', size: '1536x1024' }, {}, 0.25],
        [{ quality: 'high', size: '1024x1024' }, {}, 0.2],
        [{ quality: 'low', size: '1024x1024' }, { quality: 'high' }, 0.01],
        [{ quality: 'medium', size: '1024x1024' }, {}, 0.05],
        [{ quality: 'low', size: '1536x1024' }, {}, 0.1],
        [{}, {}, 0.1],
        [{ quality: 'auto', size: 'auto' }, { quality: 'high', size: 'auto' }, 0.2],
        [{}, { quality: 'low', size: '1024x1024' }, 0.01],
        [{ size: '1536x1024' }, { quality: 'high', size: '1024x1024' }, 0.25],
      ] as const) {
        const record = await charged('by-class', {
          items: [image(made)],
          tools: [tool(asked)],
          fields: { stream },
        })
        assert.equal(feeOf(record), fee, JSON.stringify([made, asked]))
        assert.deepEqual(record.units, { tool_calls: { image_generation: 1 } })
      }
    })

    test('several images and tools – have a line for each class, and a count of all', async () => {
      const low = image({ quality: 'low', size: '1024x1024' })
      const { bill, units, cost } = await charged('by-class', {
        items: [low, callItem('file_search_call'), image({ quality: 'high' }), low],
        tools: [tool(), { type: 'file_search', vector_store_ids: ['vs_1'] }],
        fields: { stream },
      })
      assert.deepEqual(units, { tool_calls: { file_search: 1, image_generation: 3 } })
      const lines = bill.lines.filter(({ kind }) => kind === 'tool')
      assert.deepEqual(
        lines.map(({ tool: name, quality, size, count, price, amount }) => [
          [name, quality, size].filter(Boolean).join(' '),
          [count, price, amount].join(' '),
        ]),
        [
          ['file_search', '1 0.02 0.02'],
          ['image_generation low 1024x1024', '2 0.01 0.02'],
          ['image_generation high', '1 0.2 0.2'],
        ],
      )
      assert.equal(cost, '0.240024')
    })

    test('failed calls – cost nothing', async () => {
      const failed = image({ status: 'failed', quality: 'high' })
      const none = await charged('flat', { items: [failed], fields: { stream } })
      assert.deepEqual([none.cost, none.units], ['0.000024', {}])
      const one = await charged('flat', { items: [failed, image(), failed], fields: { stream } })
      assert.deepEqual([feeOf(one), one.units], [0.3, { tool_calls: { image_generation: 1 } }])
      const byToken = await charged('by-token', { items: [failed], more: stated, fields: { stream } })
      assert.deepEqual([byToken.cost, byToken.units], ['0.000024', {}])
    })

    test('image of no class – is charged as the dearest that was possible, and flagged', async () => {
      const { cost, units, attempts } = await charged('strict', {
        items: [image({ quality: 'medium', size: '800x600' })],
        tools: [tool({ quality: 'high' })],
        fields: { stream },
      })
      assert.equal(cost, '0.250024')
      assert.deepEqual(units, { tool_calls: { image_generation: 1 } })
      assert.equal(attempts.at(-1)?.unpriced_class, 'image_generation?quality=medium&size=800x600')
    })

    test('stated tokens – are charged where images have a token price, and no call', async () => {
      for (const model of ['by-token', 'by-both']) {
        const items = [image({ quality: 'high' })]
        const { cost, units, bill, clamped } = await charged(model, {
          items,
          more: stated,
          fields: { stream, max_output_tokens: 16 },
        })
        assert.deepEqual([cost, clamped], ['0.012524', false])
        assert.deepEqual(units, { input_image_tokens: 50, output_image_tokens: 300 })
        const lines = bill.lines.map(({ kind, count, amount }) => [kind, count, amount])
        assert.deepEqual(lines, [
          ['input', 20, '0.00002'],
          ['output', 4, '0.000004'],
          ['input_image', 50, '0.0005'],
          ['output_image', 300, '0.012'],
        ])
      }
      const flat = await charged('flat', { items: [image()], more: stated, fields: { stream } })
      assert.equal(feeOf(flat), 0.3)
    })

    test('tokens that are not stated – are charged by the call, else estimated from the image', async () => {
      const items = [image({ quality: 'low', size: '1024x1024' })]
      const zero = { tool_usage: { image_gen: { input_tokens: 0, output_tokens: 0 } } }
      for (const more of [{}, zero]) {
        const both = await charged('by-both', { items, more, fields: { stream } })
        assert.deepEqual([feeOf(both), both.units], [0.01, { tool_calls: { image_generation: 1 } }])
        const { units, usage_source: source } = await charged('by-token', { items, more, fields: { stream } })
        assert.deepEqual([units, source], [{ output_image_tokens: 272 }, 'estimate'])
      }
    })

    test('more calls than max_tool_calls, and more tokens than images have – are not charged', async () => {
      const fields = { stream, max_tool_calls: 1 }
      const calls = await charged('flat', { items: [image(), image()], fields })
      assert.deepEqual([feeOf(calls), calls.clamped], [0.3, true])
      const more = { tool_usage: { image_gen: { input_tokens: 50, output_tokens: 10_000_000 } } }
      const tokens = await charged('by-token', { items: [image()], more, fields })
      assert.equal(tokens.clamped, true)
      assert.ok(Number(tokens.cost) < 1.4, tokens.cost)
    })

    test('recorded response – is charged by its class', { skip: !isRecorded }, async () => {
      upstream.next(
        stream
          ? respondWithEvents(readStreamPayloads(recordings, recording))
          : respondWithJson(200, readResponse(recordings, recording)),
      )
      const response = await postResponses(account, responsesRequest('by-class', { stream, tools: [tool()] }))
      assert.equal(response.status, 200, await response.clone().text())
      await response.text()
      const { cost, units } = await recordOf(account, response)
      // The stream's image is of low quality and 1536x1024, the other one 1024x1024.
      assert.equal(cost, stream ? '0.10419' : '0.015121')
      assert.deepEqual(units, { tool_calls: { image_generation: 1 } })
    })
  })
}
