// @backend both
/** Which upstream serves a request: by weight, affinity, cost or latency; fallback models; and the dry run that explains it. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { parseAmount } from '../../../src/lib/money.ts'
import { readPayloads, chatRequest } from '../../support/server/account.ts'
import { waitForRecord, streamedText } from '../../support/client/responses.ts'
import { commandLineFor } from '../../support/server/command-line.ts'
import { sharedTestServer, type RegisteredUpstream } from '../../support/server/test-server.ts'
import { delayBy } from '../../support/upstream/fault-injection.ts'
import { respondWithError, respondWith } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer()
const usage = { input: 1000, output: 1000 }
const healthy = respondWith('Hello!', usage)
const account = await server.account({ balance: '¥1000' })

interface Plan {
  callable: boolean
  why: string
  steps: {
    order: number | null
    name: string
    model: string
    share: number | null
    state: string
    why: string
  }[]
  left_out: { upstream: string | null; model: string; why: string }[]
}

/** A model whose upstreams have the same priority. */
async function createModel(
  model: string,
  fields: object,
  weights: readonly number[] = [1, 1],
): Promise<RegisteredUpstream[]> {
  const upstreams: RegisteredUpstream[] = []
  for (let count = 0; count < weights.length; count += 1) upstreams.push(await server.upstream(healthy))
  const routes = upstreams.map(({ id }, index) => ({
    upstream: id,
    model,
    priority: 1,
    weight: weights[index],
  }))
  await server.model(model, { upstreams: [], routes, ...fields })
  return upstreams
}

async function sendRequests(model: string, times: number, fields: object = {}): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    const response = await account.post(chatRequest(model, fields))
    assert.equal(response.status, 200)
    await response.arrayBuffer()
  }
}

function requestCounts(upstreams: readonly RegisteredUpstream[]): number[] {
  return upstreams.map(({ requests }) => requests.length)
}

describe('Upstream selection', () => {
  test('Equal priority – requests are shared by weight; weight 0 serves only after failures', async () => {
    const upstreams = await createModel('weighted', {}, [3, 1, 0])
    await sendRequests('weighted', 200)
    const [heavy = 0, light = 0, none] = requestCounts(upstreams)
    assert.ok(heavy > 120 && light > 25, `${heavy} and ${light}`)
    assert.equal(none, 0)
    for (const upstream of upstreams.slice(0, 2)) upstream.always(respondWithError(500))
    await sendRequests('weighted', 1)
    assert.equal(upstreams[2]?.requests.length, 1)
  })

  test('Affinity – keeps a conversation on one upstream while it is healthy, spreads others', async () => {
    const upstreams = await createModel('steady', { affinity: true })
    const begin = (topic: number) => [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: `Topic ${topic}` },
    ]
    const chosen: number[] = []
    for (let topic = 0; topic < 24; topic += 1) {
      const messages: object[] = begin(topic)
      const before = requestCounts(upstreams)
      for (let turn = 0; turn < 3; turn += 1) {
        await sendRequests('steady', 1, { messages })
        messages.push(
          { role: 'assistant', content: 'Hello!' },
          { role: 'user', content: `And turn ${turn}?` },
        )
      }
      const received = requestCounts(upstreams).map((count, index) => count - (before[index] ?? 0))
      assert.ok(received.includes(3), `topic ${topic} was spread: ${received.join(' and ')}`)
      chosen.push(received.indexOf(3))
    }
    assert.ok(chosen.includes(0) && chosen.includes(1), 'both upstreams are used')
    const affine = upstreams[chosen[0] ?? 0]
    affine?.always(respondWithError(500))
    await sendRequests('steady', 1, { messages: begin(0) })
  })

  test('prompt_cache_key or user – keeps different conversations on one upstream', async () => {
    for (const field of ['prompt_cache_key', 'user']) {
      const upstreams = await createModel(`kept-by-${field}`, { affinity: true })
      for (let topic = 0; topic < 12; topic += 1) {
        const messages = [{ role: 'user', content: `Topic ${topic}` }]
        await sendRequests(`kept-by-${field}`, 1, { messages, [field]: 'the same' })
      }
      assert.ok(requestCounts(upstreams).includes(12), requestCounts(upstreams).join(' and '))
    }
  })

  test('prefer – cheapest calls the lowest upstream cost, fastest the lowest latency', async () => {
    const cheap = await createModel('cheap', { prefer: 'cheapest' }, [1, 100])
    const prices = [
      { input: '0.001', output: '0.002' },
      { input: '0.001', output: '0.001', currency: 'USD', rate: '7' },
    ]
    for (const [index, { id }] of cheap.entries()) {
      await server.admin('PATCH', `/upstreams/${id}`, { prices: prices[index] })
    }
    await sendRequests('cheap', 20)
    assert.deepEqual(requestCounts(cheap), [20, 0])

    const fast = await createModel('fast', { prefer: 'fastest' }, [1, 1])
    // Longer than a busy machine can delay a response of the other upstream.
    fast[0]?.always(delayBy(1000, healthy))
    await sendRequests('fast', 40)
    const [slow = 0, fastest = 0] = requestCounts(fast)
    assert.ok(fastest > 30 && slow < 10, `${slow} and ${fastest}`)
  })

  test('Fallback model – only from the table, never a dearer one, billed at the lower price', async () => {
    const down = await server.upstream(respondWithError(500))
    const up = await server.upstream(healthy)
    const price = (each: string) => ({ input: each, output: each })
    await server.model('dear', { upstreams: [up], prices: price('0.004') })
    await server.model('low', { upstreams: [up], prices: price('0.001') })
    await server.model('primary', { upstreams: [down], prices: price('0.002'), fallbacks: ['dear', 'low'] })
    for (const stream of [false, true]) {
      const response = await account.post(chatRequest('primary', { stream }))
      assert.equal(response.status, 200)
      assert.equal(response.headers.get('x-sluice-model'), 'low')
      if (stream) assert.equal(streamedText(await readPayloads(response)), 'Hello!')
      else assert.equal(parseAmount(response.headers.get('x-sluice-cost') ?? ''), parseAmount('0.002'))
      const record = await waitForRecord(account, response)
      assert.deepEqual(
        [record.model, record.upstream, parseAmount(record.cost)],
        ['primary', up.id, parseAmount('0.002')],
      )
    }
    const restricted = await server.account({ balance: '¥1', key: { models: ['primary'] } })
    assert.equal((await restricted.post(chatRequest('primary'))).status, 503)

    const plan = await server.admin<Plan>('GET', `/models/primary/route?key=${restricted.key.id}`)
    assert.deepEqual(
      plan.left_out.map(({ model, why }) => [model, why]),
      [
        ['dear', 'The key may not use this model.'],
        ['low', 'The key may not use this model.'],
      ],
    )
    const open = await server.admin<Plan>('GET', '/models/primary/route')
    assert.deepEqual(
      open.left_out.map(({ model, why }) => [model, why]),
      [['dear', 'The model costs more than the requested model.']],
    )
    assert.ok(open.steps.some(({ model, name }) => model === 'low' && name === up.name))
  })

  test('Dry run – reports order, shares and reasons over HTTP and CLI, and calls no upstream', async () => {
    const upstreams = await createModel('planned', {}, [3, 1])
    const [first, second] = upstreams
    const backup = await server.upstream(healthy)
    const idle = await server.upstream(healthy, { enabled: false })
    assert.ok(first && second)
    const routes = [
      ...[first, second].map(({ id }, index) => ({
        upstream: id,
        model: 'planned',
        priority: 1,
        weight: index ? 1 : 3,
      })),
      { upstream: backup.id, model: 'planned', priority: 2 },
      { upstream: idle.id, model: 'planned', priority: 1 },
    ]
    await server.admin('PATCH', '/models/planned', { routes })
    const plan = await server.admin<Plan>('GET', '/models/planned/route')
    assert.equal(plan.callable, true)
    assert.deepEqual(
      plan.steps.map(({ order, name, share, state }) => [order, name, share, state]),
      [
        [1, first.name, 0.75, 'closed'],
        [2, second.name, 0.25, 'closed'],
        [3, backup.name, 1, 'closed'],
      ],
    )
    assert.deepEqual(
      plan.left_out.map(({ upstream, why }) => [upstream, why]),
      [[idle.name, 'The upstream is disabled.']],
    )
    assert.deepEqual(requestCounts([first, second, backup, idle]), [0, 0, 0, 0])

    first.always(respondWithError(500))
    await sendRequests('planned', 30)
    const later = await server.admin<Plan>('GET', '/models/planned/route')
    const failing = later.steps.find(({ name }) => name === first.name)
    assert.equal(failing?.state, 'open')
    assert.match(failing?.why ?? '', /500/)

    const commands = commandLineFor(server.relay)
    const table = await commands.output(['route', '--model', 'planned'])
    for (const { name } of [first, second, backup, idle]) assert.ok(table.includes(name), table)
    const json = await commands.json<Plan>(['route', '--model', 'planned', '--key', account.key.id])
    assert.equal(json.steps.length, 3)
    assert.match(await commands.expectFailure(['route', '--model', 'nobody']), /Model not found/)
  })
})
