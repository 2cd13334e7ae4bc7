// @backend both
/** Prices above a length of the input, by service tier, by modality, and from a later time. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Bill } from '../../../src/http/api/request-bill.ts'
import { chatRequest, type Account, type RequestRecord } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { waitForRecord, type ErrorBody } from '../../support/client/responses.ts'
import { respondWith, type Usage } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

const server = await sharedTestServer()

async function rejected(response: Response, status = 400): Promise<ErrorBody> {
  const body = (await response.json()) as { error: ErrorBody }
  assert.equal(response.status, status, JSON.stringify(body))
  return body.error
}

/** A model with these prices at an upstream of its own, called by an account of its own. */
async function createModel(name: string, prices: Record<string, unknown>, fields: object = {}) {
  const upstream = await server.upstream(respondWith('Hi', { input: 10, output: 5 }))
  await server.model(name, { upstreams: [upstream], prices, max_output_tokens: 100, ...fields })
  const account = await server.account({ balance: '100' })
  return { upstream, account }
}

/** The record of the request, with its bill, which adds up. */
async function billed(account: Account, body: object): Promise<RequestRecord & { bill: Bill }> {
  const response = await account.post(body)
  assert.equal(response.status, 200, await response.clone().text())
  await response.text()
  const { request_id: id } = await waitForRecord(account, response)
  const record = await server.admin<RequestRecord & { bill: Bill }>('GET', `/requests/${id}`)
  const { bill, cost } = record
  const amounts = bill.lines.reduce((sum, { amount }) => sum + Number(amount), 0)
  assert.ok(Math.abs(amounts - Number(bill.sum)) < 1e-12, JSON.stringify(bill))
  assert.equal(Number(bill.exact) + Number(bill.rounding), Number(bill.total))
  assert.equal(bill.charged, cost)
  for (const { count, price, amount, kind } of bill.lines) {
    const unit = ['request', 'search', 'tool'].includes(kind) ? 1 : 1000
    assert.ok(Math.abs((count * Number(price)) / unit - Number(amount)) < 1e-12, kind)
  }
  return record
}

const text = 'word '.repeat(60)
const longChat = (model: string, fields: object = {}): object => ({
  ...chatRequest(model, { max_tokens: 16, ...fields }),
  messages: [{ role: 'user', content: text }],
})

describe('Price above a length of the input', () => {
  const prices = {
    input: '0.01',
    output: '0.02',
    cached_input: '0.001',
    above: [
      { input_tokens: 200, input: '0.04', output: '0.08', cached_input: '0.004' },
      { input_tokens: 100, input: '0.02', output: '0.04', cached_input: '0.002' },
    ],
  }

  test('whole request – has the price of the largest length below its input', async () => {
    const { upstream, account } = await createModel('long', prices)
    for (const [input, cost] of [
      [100, '0.0011'],
      [101, '0.00222'],
      [200, '0.0042'],
      [201, '0.00844'],
    ] as const) {
      upstream.next(respondWith('Hi', { input, output: 5 }))
      assert.equal((await billed(account, longChat('long'))).cost, cost, `${input} tokens`)
    }
    upstream.next(respondWith('Hi', { input: 250, output: 5, cached: 200 }))
    assert.equal((await billed(account, longChat('long'))).cost, '0.0032')
  })

  test('hold – covers every price that the input can reach', async () => {
    const { account, upstream } = await createModel('long-hold', prices)
    await server.showObedience('long-hold', upstream)
    upstream.next(respondWith('Hi', { input: 201, output: 16 }))
    const { bill, cost } = await billed(account, longChat('long-hold'))
    assert.equal(cost, '0.00932')
    // About 90 estimated tokens may be 360, so that the highest price is held.
    assert.ok(Number(bill.hold) >= 90 * 0.00004 + 16 * 0.00008, bill.hold)
  })

  test('entry without a price that the base has – is rejected, naming it', async () => {
    for (const [above, param] of [
      [[{ input_tokens: 5, input: '1', output: '1' }], 'prices.above[0].cached_input'],
      [[{ input_tokens: 5, input: '1' }], 'prices.above[0].output'],
      [[{ input_tokens: 0, input: '1', output: '1', cached_input: '1' }], 'prices.above[0].input_tokens'],
    ] as const) {
      const body = { id: 'wrong', context_tokens: 1000, prices: { ...prices, above } }
      const error = await rejected(await server.relay.adminResponse('POST', '/models', body))
      assert.equal(error.param, param)
    }
  })
})

describe('Service tier', () => {
  const prices = {
    input: '0.01',
    output: '0.02',
    per_request: '0.5',
    service_tiers: { flex: '0.5', fast: '2' },
  }
  interface Plan {
    readonly left_out: readonly { readonly model: string; readonly why: string }[]
  }
  const served = (tier: string | undefined, usage: Usage = { input: 100, output: 50 }) =>
    respondWith('Hi', usage, tier === undefined ? {} : { fields: { service_tier: tier } })

  for (const stream of [false, true]) {
    test(`the tier that served it – is billed, and no fee is multiplied, stream ${stream}`, async () => {
      const name = `tiers-${stream}`
      const { upstream, account } = await createModel(name, prices)
      for (const [asked, tier, billedTier, cost] of [
        [undefined, 'default', 'default', '0.502'],
        ['flex', 'flex', 'flex', '0.501'],
        ['priority', 'priority', 'priority', '0.504'],
        ['fast', 'priority', 'priority', '0.504'],
        ['priority', 'default', 'default', '0.502'],
        ['flex', 'default', 'default', '0.502'],
        ['flex', undefined, 'flex', '0.501'],
        [undefined, undefined, 'default', '0.502'],
      ] as const) {
        upstream.next(served(tier))
        const fields = { stream, max_tokens: 50, ...(asked === undefined ? {} : { service_tier: asked }) }
        const record = await billed(account, longChat(name, fields))
        assert.deepEqual([record.service_tier, record.cost], [billedTier, cost], `${asked}, ${tier}`)
        assert.equal(upstream.requests.at(-1)?.json['service_tier'], asked)
      }
    })
  }

  test('a tier without a price – is 400, and billed as the default one if it served', async () => {
    const { upstream, account } = await createModel('tier-unpriced', prices)
    const response = await account.post(longChat('tier-unpriced', { service_tier: 'scale' }))
    const error = await rejected(response)
    assert.equal(error.param, 'service_tier')
    assert.equal(upstream.requests.length, 0)
    upstream.next(served('scale'))
    const {
      service_tier: tier,
      cost,
      attempts,
    } = await billed(account, longChat('tier-unpriced', { max_tokens: 50 }))
    assert.deepEqual([tier, cost, attempts.at(-1)?.unpriced_tier], ['scale', '0.502', 'scale'])
  })

  test('balance for the default tier only – does not pay for a dearer one', async () => {
    await createModel('tier-held', { input: '1', output: '1', service_tiers: { priority: '3', flex: '0.1' } })
    const poor = await server.account({ balance: '0.3' })
    const ask = (tier: string) =>
      poor.post({ ...longChat('tier-held', { max_tokens: 16 }), service_tier: tier })
    await rejected(await ask('priority'), 402)
    assert.equal((await ask('flex')).status, 200)
  })

  test('fallback model – must not be dearer at any tier or length', async () => {
    await createModel('tier-cheap', { input: '1', output: '1', service_tiers: { flex: '0.5' } })
    await createModel('tier-plain', { input: '1', output: '1' })
    const whyNot = async (model: string, fallback: string): Promise<string | null> => {
      await server.admin('PATCH', `/models/${model}`, { fallbacks: [fallback] })
      const plan = await server.admin<Plan>('GET', `/models/${model}/route`)
      return plan.left_out.find(({ model: id }) => id === fallback)?.why ?? null
    }
    assert.match(String(await whyNot('tier-cheap', 'tier-plain')), /costs more/)
    assert.equal(await whyNot('tier-plain', 'tier-cheap'), null)
  })
})

describe('Tokens of images and audio', () => {
  const prices = {
    input: '0.001',
    output: '0.002',
    input_audio: '0.01',
    output_audio: '0.02',
    cached_input: '0',
  }

  test('their own price – applies to their tokens, on a line of its own', async () => {
    const { upstream, account } = await createModel('audio', prices)
    const raw = {
      prompt_tokens: 100,
      completion_tokens: 10,
      prompt_tokens_details: { audio_tokens: 60, cached_tokens: 50, image_tokens: 10 },
      completion_tokens_details: { audio_tokens: 8 },
    }
    upstream.next(respondWith('Hi', { raw }))
    const record = await billed(account, longChat('audio'))
    // Cached tokens are text first, then images, then audio: 30, 10 and 10.
    assert.equal(record.cost, '0.000664')
    assert.deepEqual(
      record.bill.lines.map(({ kind, count }) => [kind, count]),
      [
        ['cached_input', 30],
        ['output', 2],
        ['input_audio', 50],
        ['cached_input_image', 10],
        ['cached_input_audio', 10],
        ['output_audio', 8],
      ],
    )
    const { input_audio_tokens: audio, output_audio_tokens: spoken } = record.units
    assert.deepEqual([audio, spoken], [60, 8])
  })

  test('audio responses – are taken where they have a price', async () => {
    const { upstream, account } = await createModel('speaking', prices)
    const fields = { modalities: ['text', 'audio'], audio: { voice: 'a', format: 'mp3' } }
    assert.equal((await account.post(longChat('speaking', fields))).status, 200)
    assert.deepEqual(upstream.requests.at(-1)?.json['modalities'], ['text', 'audio'])
    const { account: other } = await createModel('silent', { input: '1', output: '1' })
    const error = await rejected(await other.post(longChat('silent', fields)))
    assert.equal(error.param, 'modalities')
  })
})

describe('Price from a later time', () => {
  interface Version {
    readonly version: number
    readonly effective_at: string
    readonly prices: { readonly input: string }
  }

  test('the version – is listed at once and applies from then on', async () => {
    const { account } = await createModel('later', { input: '0.01', output: '0' })
    const at = new Date(Date.now() + 1500).toISOString()
    await server.admin('PATCH', '/models/later', {
      prices: { input: '0.03', output: '0', effective_from: at },
    })
    const { data } = await server.admin<{ data: Version[] }>('GET', '/models/later/prices')
    assert.deepEqual(
      data.map(({ prices, effective_at: from }) => [prices.input, from === at]),
      [
        ['0.03', true],
        ['0.01', false],
      ],
    )
    const shown = () => server.admin<{ prices: { input: string } }>('GET', '/models/later')
    assert.equal((await shown()).prices.input, '0.01')
    assert.equal((await billed(account, longChat('later'))).cost, '0.0001')
    await waitUntil(async () => (await shown()).prices.input === '0.03', 'the later price')
    assert.ok(Date.now() >= Date.parse(at))
    assert.equal((await billed(account, longChat('later'))).cost, '0.0003')
  })

  test('saving again at once – replaces what was planned', async () => {
    const { account } = await createModel('replaced', { input: '0.01', output: '0' })
    const at = new Date(Date.now() + 1000).toISOString()
    const planned = { prices: { input: '0.03', output: '0', effective_from: at } }
    await server.admin('PATCH', '/models/replaced', planned)
    await server.admin('PATCH', '/models/replaced', { prices: { input: '0.01', output: '0' } })
    await waitUntil(async () => Date.now() > Date.parse(at) + 50, 'the time')
    assert.equal((await billed(account, longChat('replaced'))).cost, '0.0001')
  })

  test('first price of a model – must not be in the future', async () => {
    const prices = { input: '1', output: '1', effective_from: '2099-01-01T00:00:00Z' }
    const body = { id: 'unborn', context_tokens: 1000, prices }
    const error = await rejected(await server.relay.adminResponse('POST', '/models', body))
    assert.equal(error.param, 'prices.effective_from')
  })
})

test('Ledger – adds up after all of it, and reads it again', async () => {
  assert.partialDeepStrictEqual(await server.verify(), { ok: true, drift: '0' })
  await server.restart()
  assert.partialDeepStrictEqual(await server.verify(), { ok: true, drift: '0' })
})
