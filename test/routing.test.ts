/** Who is asked while all is well: by weight, by conversation, by cost, by speed; which model may stand in for another; and what a dry run says of it. */

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { nanosOf } from '../src/lib/money.ts'
import { payloadsOf, question } from './support/server/account.ts'
import { recordOf, wordsOf } from './support/client/responses.ts'
import { commandsOf } from './support/server/command-line.ts'
import { shareHouse, type KnownUpstream } from './support/server/test-server.ts'
import { waiting } from './support/upstream/fault-injection.ts'
import { failing, saying } from './support/upstream/scripted-responses.ts'

const house = await shareHouse()
const usage = { input: 1000, output: 1000 }
const well = saying('Hello!', usage)
const account = await house.account({ balance: '¥1000' })

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
async function equals(
  model: string,
  fields: object,
  weights: readonly number[] = [1, 1],
): Promise<KnownUpstream[]> {
  const upstreams: KnownUpstream[] = []
  for (let count = 0; count < weights.length; count += 1) upstreams.push(await house.upstream(well))
  const routes = upstreams.map(({ id }, index) => ({
    upstream: id,
    model,
    priority: 1,
    weight: weights[index],
  }))
  await house.model(model, { upstreams: [], routes, ...fields })
  return upstreams
}

async function ask(model: string, times: number, fields: object = {}): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    const reply = await account.post(question(model, fields))
    assert.equal(reply.status, 200)
    await reply.arrayBuffer()
  }
}

function counts(upstreams: readonly KnownUpstream[]): number[] {
  return upstreams.map(({ requests }) => requests.length)
}

test('upstreams of one priority share by weight, and one without weight is asked only when the others fail', async () => {
  const upstreams = await equals('weighted', {}, [3, 1, 0])
  await ask('weighted', 200)
  const [most = 0, least = 0, none] = counts(upstreams)
  assert.ok(most > 120 && least > 25, `${most} and ${least}`)
  assert.equal(none, 0)
  for (const upstream of upstreams.slice(0, 2)) upstream.always(failing(500))
  await ask('weighted', 1)
  assert.equal(upstreams[2]?.requests.length, 1)
})

test('a conversation stays with its upstream while that is well, and others spread over all', async () => {
  const upstreams = await equals('steady', { affinity: true })
  const begin = (topic: number) => [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: `Topic ${topic}` },
  ]
  const places: number[] = []
  for (let topic = 0; topic < 24; topic += 1) {
    const messages: object[] = begin(topic)
    const before = counts(upstreams)
    for (let turn = 0; turn < 3; turn += 1) {
      await ask('steady', 1, { messages })
      messages.push({ role: 'assistant', content: 'Hello!' }, { role: 'user', content: `And turn ${turn}?` })
    }
    const asked = counts(upstreams).map((count, index) => count - (before[index] ?? 0))
    assert.ok(asked.includes(3), `topic ${topic} was spread: ${asked.join(' and ')}`)
    places.push(asked.indexOf(3))
  }
  assert.ok(places.includes(0) && places.includes(1), 'not all of them at one place')
  const home = upstreams[places[0] ?? 0]
  home?.always(failing(500))
  await ask('steady', 1, { messages: begin(0) })
})

test('a prompt-cache key, or a user, keeps different conversations together', async () => {
  for (const field of ['prompt_cache_key', 'user']) {
    const upstreams = await equals(`kept-by-${field}`, { affinity: true })
    for (let topic = 0; topic < 12; topic += 1) {
      const messages = [{ role: 'user', content: `Topic ${topic}` }]
      await ask(`kept-by-${field}`, 1, { messages, [field]: 'the same' })
    }
    assert.ok(counts(upstreams).includes(12), counts(upstreams).join(' and '))
  }
})

test('a model that prefers the cheapest asks what costs us least, one that prefers the fastest what answers soonest', async () => {
  const cheap = await equals('cheap', { prefer: 'cheapest' }, [1, 100])
  const prices = [
    { input: '0.001', output: '0.002' },
    { input: '0.001', output: '0.001', currency: 'USD', rate: '7' },
  ]
  for (const [index, { id }] of cheap.entries()) {
    await house.admin('PATCH', `/upstreams/${id}`, { prices: prices[index] })
  }
  await ask('cheap', 20)
  assert.deepEqual(counts(cheap), [20, 0])

  const fast = await equals('fast', { prefer: 'fastest' }, [1, 1])
  fast[0]?.always(waiting(60, well))
  await ask('fast', 40)
  const [slow = 0, quick = 0] = counts(fast)
  assert.ok(quick > 30 && slow < 10, `${slow} and ${quick}`)
})

test('another model answers only by the table, never one that costs more, is named, and charged at the lower price', async () => {
  const down = await house.upstream(failing(500))
  const up = await house.upstream(well)
  const price = (each: string) => ({ input: each, output: each })
  await house.model('dear', { upstreams: [up], prices: price('0.004') })
  await house.model('low', { upstreams: [up], prices: price('0.001') })
  await house.model('asked', { upstreams: [down], prices: price('0.002'), fallbacks: ['dear', 'low'] })
  for (const stream of [false, true]) {
    const reply = await account.post(question('asked', { stream }))
    assert.equal(reply.status, 200)
    assert.equal(reply.headers.get('x-sluice-model'), 'low')
    if (stream) assert.equal(wordsOf(await payloadsOf(reply)), 'Hello!')
    else assert.equal(nanosOf(reply.headers.get('x-sluice-cost') ?? ''), nanosOf('0.002'))
    const record = await recordOf(account, reply)
    assert.deepEqual(
      [record.model, record.upstream, nanosOf(record.cost)],
      ['asked', up.id, nanosOf('0.002')],
    )
  }
  const restricted = await house.account({ balance: '¥1', key: { models: ['asked'] } })
  assert.equal((await restricted.post(question('asked'))).status, 503)

  const plan = await house.admin<Plan>('GET', `/models/asked/route?key=${restricted.key.id}`)
  assert.deepEqual(
    plan.left_out.map(({ model, why }) => [model, why]),
    [
      ['dear', 'The key may not call it.'],
      ['low', 'The key may not call it.'],
    ],
  )
  const open = await house.admin<Plan>('GET', '/models/asked/route')
  assert.deepEqual(
    open.left_out.map(({ model, why }) => [model, why]),
    [['dear', 'It costs more than the model that is asked for.']],
  )
  assert.ok(open.steps.some(({ model, name }) => model === 'low' && name === up.name))
})

test('a dry run tells the order, the shares and the reasons, over HTTP and on the command line, and calls nobody', async () => {
  const upstreams = await equals('planned', {}, [3, 1])
  const [first, second] = upstreams
  const backup = await house.upstream(well)
  const idle = await house.upstream(well, { enabled: false })
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
  await house.admin('PATCH', '/models/planned', { routes })
  const plan = await house.admin<Plan>('GET', '/models/planned/route')
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
  assert.deepEqual(counts([first, second, backup, idle]), [0, 0, 0, 0])

  first.always(failing(500))
  await ask('planned', 30)
  const later = await house.admin<Plan>('GET', '/models/planned/route')
  const rested = later.steps.find(({ name }) => name === first.name)
  assert.equal(rested?.state, 'open')
  assert.match(rested?.why ?? '', /500/)

  const commands = commandsOf(house.relay)
  const table = await commands.output(['route', '--model', 'planned'])
  for (const { name } of [first, second, backup, idle]) assert.ok(table.includes(name), table)
  const json = await commands.json<Plan>(['route', '--model', 'planned', '--key', account.key.id])
  assert.equal(json.steps.length, 3)
  assert.match(await commands.failure(['route', '--model', 'nobody']), /no such model/)
})
