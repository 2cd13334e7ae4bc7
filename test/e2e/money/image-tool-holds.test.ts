// @backend both
/** The image tool of the Responses API: what is held for it, what is rejected, and what its upstream costs. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Bill } from '../../../src/http/api/request-bill.ts'
import type { Account, RequestRecord } from '../../support/server/account.ts'
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
import { respondWithEvents, respondWithJson } from '../../support/upstream/scripted-responses.ts'

const message = messageItem('Found.')

type Fields = Record<string, unknown>

const server = await sharedTestServer()
const upstream = await server.upstream(respondWithItems([message]), { provider: 'openai' })
const account = await server.account({ balance: '1000' })
const tool = (fields: Fields = {}): Fields => ({ type: 'image_generation', ...fields })
const image = (fields: Fields = {}): Fields => callItem('image_generation_call', fields)
const plain = { input: '0.001', output: '0.001' }
const classes = [
  { quality: 'high', size: '1536x1024', amount: '0.25' },
  { quality: 'high', amount: '0.2' },
  { quality: 'low', amount: '0.01' },
  { size: '1024x1024', amount: '0.05' },
]
const rest = [...classes, { amount: '0.1' }]
const pricedAt = (prices: Fields) => ({ upstreams: [upstream], prices: { ...plain, ...prices } })
await server.model('classes', pricedAt({ per_tool_call: { image_generation: rest, file_search: '0.15' } }))
await server.model('strict', pricedAt({ per_tool_call: { image_generation: classes } }))
await server.model('tokens', pricedAt({ input_image: '0.01', output_image: '0.04' }))
await server.model('unpriced', pricedAt({ input_image: '0.01' }))

async function recordOf(caller: Account, response: Response) {
  const { request_id: id } = await waitForRecord(caller, response)
  return server.admin<RequestRecord & { bill: Bill; upstream_cost: string | null }>('GET', `/requests/${id}`)
}

async function holdOf(body: Fields): Promise<number> {
  const response = await postResponses(account, body)
  assert.equal(response.status, 200, await response.clone().text())
  await response.text()
  return Number((await recordOf(account, response)).bill.hold)
}

/** What the tools of a request add to its hold, in thousandths, beyond the text of the tools. */
async function heldFor(model: string, tools: readonly Fields[], fields: Fields = {}): Promise<number> {
  const free = tools.map((each) => ({ ...each, type: 'custom'.padEnd(String(each['type']).length, '_') }))
  const body = { ...responsesRequest(model, { ...fields, tools }), input: 'Draw.' }
  const without = { ...body, tools: free.map(({ type }) => ({ type: 'function', name: type })) }
  return Math.round(((await holdOf(body)) - (await holdOf(without))) * 1000)
}

describe('Hold of the image tool', () => {
  test('by class – is that of the dearest that the request can cause', async () => {
    for (const [asked, fee] of [
      [{}, 250],
      [{ quality: 'auto', size: 'auto' }, 250],
      [{ quality: 'high', size: '1024x1024' }, 200],
      [{ quality: 'high' }, 250],
      [{ quality: 'low' }, 10],
      [{ quality: 'medium' }, 100],
      [{ size: '1024x1024' }, 200],
      [{ quality: 'medium', size: '1024x1024' }, 50],
    ] as const) {
      const held = await heldFor('classes', [tool(asked)])
      assert.equal(held, fee * 10, JSON.stringify(asked))
    }
    assert.equal(await heldFor('classes', [tool()], { max_tool_calls: 2 }), 500)
    assert.equal(await heldFor('classes', [tool()], { stream: true }), 250)
    const search = { type: 'file_search', vector_store_ids: ['vs_1'] }
    assert.equal(await heldFor('classes', [tool({ quality: 'low' }), search], { stream: true }), 150)
  })

  test('by token – is that of an image of the asked quality and size; auto is high and the largest', async () => {
    for (const [asked, tokens] of [
      [{}, 6240],
      [{ quality: 'low', size: '1024x1024' }, 272],
      [{ quality: 'medium', size: '1024x1536' }, 1584],
      [{ quality: 'high', size: '256x256', partial_images: 3 }, 4460],
      [{ quality: 'low', size: '2048x2048' }, 1088],
    ] as const) {
      const held = await heldFor('tokens', [tool(asked)], { stream: true })
      assert.equal(held, Math.round(tokens * 0.04 + 1024 * 0.01), JSON.stringify(asked))
    }
  })

  test('non-streaming – must be paid for before the call', async () => {
    const poor = await server.account({ balance: '2.4' })
    const ask = (fields: Fields) =>
      postResponses(poor, responsesRequest('classes', { tools: [tool()], ...fields }))
    assert.equal((await ask({})).status, 402)
    const allowed = await ask({ max_tool_calls: 9 })
    assert.equal(allowed.status, 200, await allowed.text())
  })

  test('stream – holds the next image as each appears, and ends when it cannot be paid', async () => {
    const poor = await server.account({ balance: '0.6' })
    const events = nativeEvents([...Array.from({ length: 6 }, () => image({ quality: 'high' })), message])
    upstream.next(truncateAfter(events.length - 4, 'hang', respondWithEvents(events)))
    const response = await postResponses(poor, responsesRequest('classes', { stream: true, tools: [tool()] }))
    const last: Fields = parseResponsesEvents(await response.text()).at(-1) ?? {}
    assert.equal((last['response'] as { error: { code: string } }).error.code, 'insufficient_quota')
    const { units, cost } = await recordOf(poor, response)
    assert.deepEqual(units, { tool_calls: { image_generation: 2 } })
    // The class of the last image may not be stated yet when the stream ends.
    assert.ok(Number(cost) >= 0.3 && Number(cost) <= 0.6, cost)
  })

  test('stream that breaks off – is charged for its images, by the request where nothing is stated', async () => {
    const events = nativeEvents([image({ quality: 'high' }), image({ status: 'failed' }), image()])
    for (const [model, fees, units] of [
      ['classes', 0.21, { tool_calls: { image_generation: 2 } }],
      ['tokens', (6240 + 408) * 0.00004, { output_image_tokens: 6240 + 408 }],
    ] as const) {
      upstream.next(truncateAfter(events.length - 2, 'end', respondWithEvents(events)))
      const fields = { stream: true, tools: [tool({ quality: 'low' })] }
      const response = await postResponses(account, responsesRequest(model, fields))
      await response.text()
      const record = await recordOf(account, response)
      assert.deepEqual(record.units, units)
      assert.ok(Math.abs(Number(record.cost) - fees) < 0.002, record.cost)
    }
  })
})

describe('Image tool without a price', () => {
  test('class that no price matches – is 400 by its position before the call', async () => {
    const sent = upstream.requests.length
    for (const [model, asked] of [
      ['strict', {}],
      ['strict', { quality: 'medium', size: 'auto' }],
      ['strict', { quality: 'medium', size: '1536x1024' }],
      ['unpriced', { quality: 'high' }],
    ] as const) {
      const tools = [{ type: 'function', name: 'f' }, tool(asked)]
      const response = await postResponses(account, responsesRequest(model, { tools }))
      assert.equal(response.status, 400)
      const { param, message } = await readError(response)
      assert.equal(param, 'tools[1]')
      assert.match(message, /quality and size/)
    }
    assert.equal(upstream.requests.length, sent)
    const response = await postResponses(
      account,
      responsesRequest('strict', { tools: [tool({ quality: 'low' })] }),
    )
    assert.equal(response.status, 200, await response.text())
  })

  test('prices that are not valid – are rejected on save, naming the field', async () => {
    const save = (perToolCall: unknown) =>
      server.relay.adminResponse('POST', '/models', {
        id: 'wrong',
        context_tokens: 1000,
        prices: { ...plain, per_tool_call: perToolCall },
      })
    const at = 'prices.per_tool_call.image_generation'
    for (const [price, param] of [
      [[], at],
      ['-1', at],
      [[{ amount: '1' }, { quality: 'low', amount: '-1' }], `${at}[1].amount`],
      [[{ quality: 'low', amount: 'x' }], `${at}[0].amount`],
      [[{ amount: '1' }, { quality: 'low' }], `${at}[1].amount`],
      [[{ amount: '1' }, { quality: 'low', amount: 5 }], `${at}[1].amount`],
      [[{ quality: 'auto', amount: '1' }], `${at}[0].quality`],
      [[{ size: 'a b', amount: '1' }], `${at}[0].size`],
      [[{ size: '1024x1024', amount: '1', n: 2 }], `${at}[0].n`],
      [
        [
          { quality: 'low', amount: '1' },
          { quality: 'low', amount: '2' },
        ],
        `${at}[1]`,
      ],
      [Array.from({ length: 33 }, (_, index) => ({ size: `${index}x1`, amount: '1' })), at],
      [5, at],
    ] as const) {
      const response = await save({ image_generation: price })
      assert.equal(response.status, 400)
      assert.equal((await readError(response)).param, param, JSON.stringify(price))
    }
    const other = await save({ file_search: [{ amount: '1' }] })
    assert.equal((await readError(other)).param, 'prices.per_tool_call.file_search')
  })

  test('per_image – is rejected on save: no operation counts images', async () => {
    const prices = { ...plain, per_image: '0.1' }
    const body = { id: 'wrong', context_tokens: 1000, prices }
    const response = await server.relay.adminResponse('POST', '/models', body)
    assert.equal(response.status, 400)
    assert.equal((await readError(response)).param, 'prices.per_image')
  })
})

describe('Prices of the image tool', () => {
  test('price versions – are returned as they were saved', async () => {
    const list = { image_generation: rest, file_search: '0.15' }
    const { prices } = await server.admin<{ prices: Fields }>('GET', '/models/classes')
    assert.deepEqual(prices['per_tool_call'], list)
    await server.admin('POST', '/models', {
      id: 'versions',
      context_tokens: 1000,
      prices: { ...plain, per_tool_call: list },
    })
    const reversed = { image_generation: rest.toReversed() }
    await server.admin('PATCH', '/models/versions', { prices: { ...plain, per_tool_call: reversed } })
    const { data } = await server.admin<{ data: { prices: Fields }[] }>('GET', '/models/versions/prices')
    assert.deepEqual(
      data.map((version) => version.prices['per_tool_call']),
      [reversed, list],
    )
  })

  test('cost of a route – has classes of its own, or tokens', async () => {
    const stated = { tool_usage: { image_gen: { input_tokens: 0, output_tokens: 1000 } } }
    for (const [id, cost, upstreamCost] of [
      [
        'cost-classes',
        { per_tool_call: { image_generation: [{ quality: 'low', amount: '0.004' }, { amount: '0.2' }] } },
        '0.004024',
      ],
      ['cost-tokens', { output_image: '0.03' }, '0.030024'],
    ] as const) {
      const route = { upstream: upstream.id, model: 'gpt', cost: { ...plain, ...cost } }
      await server.model(id, {
        ...pricedAt({ per_tool_call: { image_generation: '0.3' } }),
        upstreams: [],
        routes: [route],
      })
      upstream.next(respondWithItems([image({ quality: 'low' }), message], stated))
      const response = await postResponses(account, responsesRequest(id, { tools: [tool()] }))
      assert.equal(response.status, 200, await response.clone().text())
      await response.text()
      const record = await recordOf(account, response)
      assert.deepEqual([record.cost, record.upstream_cost], ['0.300024', upstreamCost])
    }
  })

  test('fallback model – serves images only if its price counts them alike', async () => {
    const down = await server.upstream(respondWithJson(503, { error: { message: 'down' } }), {
      provider: 'openai',
    })
    const served = await server.upstream(respondWithItems([image({ quality: 'low' }), message]), {
      provider: 'openai',
    })
    const cheaper = classes.map((each) => ({ ...each, amount: '0.005' }))
    for (const [id, perToolCall, status] of [
      ['alike', cheaper, 200],
      ['fewer', [{ quality: 'low', amount: '0.001' }], 503],
    ] as const) {
      await server.model(id, {
        upstreams: [served],
        prices: { ...plain, per_tool_call: { image_generation: perToolCall } },
      })
      const prices = { ...plain, per_tool_call: { image_generation: classes } }
      await server.model(`first-${id}`, { upstreams: [down], prices, fallbacks: [id] })
      const tools = [tool({ quality: 'low' })]
      const response = await postResponses(account, responsesRequest(`first-${id}`, { tools }))
      assert.equal(response.status, status, await response.clone().text())
      await response.text()
      if (status !== 200) continue
      assert.equal((await recordOf(account, response)).cost, '0.005024')
    }
  })
})
