/** What a model's outage becomes: counts that are honest, one incident that opens and closes by itself, and posts. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { question, type Account } from './support/server/account.ts'
import { openHouse, shareHouse, type House } from './support/server/test-server.ts'
import { failing, json, saying } from './support/upstream/scripted-responses.ts'

interface Incident {
  id: string
  title: string
  status: string
  severity: string
  models: string[]
  automatic: boolean
  public: boolean
  opened_at: string
  closed_at: string | null
  updates: { status: string; message: string }[]
}

interface Counts {
  answered: number
  failed: number
  received: number
  apart: number
  success_percent: number | null
}

interface Availability {
  total: Counts
  data: {
    model: string
    total: Counts & { objective_percent: number; met: boolean | null; budget_used_percent: number | null }
    month: Counts
    burn_rates: { rule: string; long_burn: number; alerting: boolean }[]
    spans: (Counts & { start: string })[]
  }[]
}

const swift = { INCIDENT_RECOVERY: '2s' }
const house = await shareHouse({ env: swift })

async function incidentsOf(at: House, model: string, query = ''): Promise<Incident[]> {
  const { data } = await at.admin<{ data: Incident[] }>('GET', `/incidents?${query}`)
  return data.filter(({ models }) => models.includes(model))
}

/** Asks until the relay says what is waited for, with traffic meanwhile; the bound is the outage's to be seen in. */
async function underTraffic<Found>(
  account: Account,
  model: string,
  look: () => Promise<Found | undefined>,
): Promise<Found> {
  for (const start = performance.now(); performance.now() - start < 60_000; await delay(100)) {
    await (await account.post(question(model))).text()
    const found = await look()
    if (found !== undefined) return found
  }
  assert.fail('not within 30 seconds of traffic')
}

/** Once so many requests are counted, and so many that stand apart. */
async function availabilityOf(
  model: string,
  received: number,
  { query = '', apart = 0 } = {},
): Promise<Availability['data'][0]> {
  for (const start = performance.now(); performance.now() - start < 60_000; await delay(50)) {
    const path = `/availability?model=${encodeURIComponent(model)}&${query}`
    const one = (await house.admin<Availability>('GET', path)).data[0]
    if (one && one.total.received >= received && one.total.apart >= apart) return one
  }
  assert.fail(`${received} requests to ${model} are not counted`)
}

test('an outage under traffic opens one incident within half a minute, and it closes by itself when the model answers', async () => {
  const upstream = await house.upstream(failing(503))
  await house.model('ill', { upstreams: [upstream] })
  await house.model('well', { upstreams: [await house.upstream(saying('Hello!'))] })
  const account = await house.account({ balance: '¥1' })
  const opened = await underTraffic(account, 'ill', async () => {
    await (await account.post(question('well'))).text()
    return (await incidentsOf(house, 'ill'))[0]
  })
  assert.deepEqual([opened.automatic, opened.public, opened.status], [true, true, 'investigating'])
  assert.deepEqual([opened.severity, opened.models, opened.closed_at], ['critical', ['ill'], null])
  assert.match(opened.updates[0]?.message ?? '', /failing/)

  upstream.always(saying('Hello!'))
  const closed = await underTraffic(account, 'ill', async () => {
    const [one] = await incidentsOf(house, 'ill')
    return one?.closed_at ? one : undefined
  })
  assert.deepEqual([closed.id, closed.status], [opened.id, 'resolved'])
  assert.equal(closed.updates.length, 2)
  assert.equal((await incidentsOf(house, 'ill')).length, 1)
  assert.deepEqual(await incidentsOf(house, 'well'), [])
})

test('an open incident outlives kill -9, stays the only one, and is closed by the relay that came after', async (t) => {
  const own = await openHouse(t, { env: swift })
  const upstream = await own.upstream(failing(500))
  await own.model('ill', { upstreams: [upstream] })
  const account = await own.account({ balance: '¥1' })
  const [opened] = [await underTraffic(account, 'ill', async () => (await incidentsOf(own, 'ill'))[0])]
  await own.kill()
  await own.restart()
  // The roll-ups of before the crash are there, and the pace is judged with the first look.
  await underTraffic(account, 'ill', async () => {
    const { data } = await own.admin<{ data: { code: string }[] }>('GET', '/notices?audience=operator')
    const codes = data.map(({ code }) => code)
    return ['fast_burn', 'slow_burn', 'model_failing'].every((code) => codes.includes(code)) || undefined
  })
  for (let sent = 0; sent < 10; sent += 1) await (await account.post(question('ill'))).text()
  upstream.always(saying('Hello!'))
  await underTraffic(account, 'ill', async () => (await incidentsOf(own, 'ill', 'open=false'))[0])
  assert.deepEqual(
    (await incidentsOf(own, 'ill')).map(({ id }) => id),
    [opened.id],
  )
  await own.nothingHeld()
})

test('what callers did wrong, and what they were refused for money or limits, is no part of availability', async () => {
  const upstream = await house.upstream(saying('Hello!'))
  await house.model('fair', { upstreams: [upstream] })
  const account = await house.account({ balance: '¥1' })
  const poor = await house.account()
  const slow = await house.account({ balance: '¥1', key: { limits: { rpm: 1 } } })
  for (let sent = 0; sent < 6; sent += 1) {
    await (await account.post(question('fair'))).text()
    upstream.next(json(400, { error: { message: 'too long', code: 'context_length_exceeded' } }))
    assert.equal((await account.post(question('fair'))).status, 400)
    assert.equal((await account.post(question('fair', { temperature: 9 }))).status, 400)
    assert.equal((await poor.post(question('fair'))).status, 402)
    assert.equal((await slow.post(question('fair'))).status, sent === 0 ? 200 : 429)
    assert.equal((await account.post(question('unheard-of'))).status, 404)
  }
  const { total, month, spans } = await availabilityOf('fair', 7, { apart: 17 })
  assert.deepEqual([total.answered, total.failed, total.success_percent, total.met], [7, 0, 100, true])
  assert.deepEqual([month.answered, spans.length >= 1], [7, true])
  const all = await house.admin<Availability>('GET', '/availability')
  assert.ok(!all.data.some(({ model }) => model === 'unheard-of'), 'no caller makes a model by asking for it')
  assert.deepEqual(await incidentsOf(house, 'fair'), [])
})

test('success is answered ÷ received, by day and by minute alike, held against the objective that the model has', async () => {
  const upstream = await house.upstream(saying('Hello!'))
  await house.model('measured/one', { upstreams: [upstream] })
  const objective = { model: 'measured/one', objective_percent: 60 }
  assert.deepEqual(await house.admin('PUT', '/objectives', objective), objective)
  const account = await house.account({ balance: '¥1' })
  for (let sent = 0; sent < 8; sent += 1) {
    if (sent % 4 === 3) upstream.next(failing(502))
    await (await account.post(question('measured/one'))).text()
  }
  for (const step of ['step=day', 'step=minute']) {
    const { total, spans } = await availabilityOf('measured/one', 8, { query: step })
    assert.deepEqual([total.answered, total.failed, total.success_percent], [6, 2, 75])
    assert.deepEqual([total.objective_percent, total.met, total.budget_used_percent], [60, true, 62.5])
    assert.equal(
      spans.reduce((sum, span) => sum + span.received, 0),
      8,
    )
  }
  await house.admin('PUT', '/objectives', { ...objective, objective_percent: null })
  const again = await availabilityOf('measured/one', 8)
  assert.deepEqual([again.total.objective_percent, again.total.met], [99.9, false])
  assert.equal(Math.round(again.burn_rates[0]?.long_burn ?? 0), 250)
  const wrong = await house.relay.adminReply('PUT', '/objectives', { ...objective, objective_percent: 100 })
  assert.equal(wrong.status, 400)
})

test('a person opens an incident, tells of it, resolves it, and opens it again', async () => {
  const fields = { title: 'Maintenance', models: ['fair'], severity: 'major', message: 'We begin.' }
  const made = await house.admin<Incident>('POST', '/incidents', { ...fields, public: false })
  assert.deepEqual([made.automatic, made.public, made.status], [false, false, 'investigating'])
  await house.admin('PATCH', `/incidents/${made.id}`, {
    status: 'identified',
    message: 'Found.',
    public: true,
  })
  const done = await house.admin<Incident>('PATCH', `/incidents/${made.id}`, { status: 'resolved' })
  assert.ok(done.closed_at !== null && done.public)
  assert.deepEqual(
    done.updates.map(({ status, message }) => [status, message]),
    [
      ['identified', 'Found.'],
      ['investigating', 'We begin.'],
    ],
  )
  const again = await house.admin<Incident>('PATCH', `/incidents/${made.id}`, { status: 'monitoring' })
  assert.equal(again.closed_at, null)
  assert.ok((await incidentsOf(house, 'fair', 'open=true')).some(({ id }) => id === made.id))
  await house.admin('PATCH', `/incidents/${made.id}`, { status: 'resolved' })
  for (const [method, path, body, status] of [
    ['POST', '/incidents', { title: '' }, 400],
    ['POST', '/incidents', { title: 'x', opened_at: '2999-01-01T00:00:00Z' }, 400],
    ['POST', '/incidents', { title: 'x', colour: 'red' }, 400],
    ['PATCH', '/incidents/inc_none', { status: 'resolved' }, 404],
    ['GET', '/incidents?cursor=bm8', undefined, 400],
  ] as const) {
    assert.equal((await house.relay.adminReply(method, path, body)).status, status, `${method} ${path}`)
  }
})

test('incidents are told page by page, each once', async () => {
  for (const title of ['one', 'two', 'three'])
    await house.admin('POST', '/incidents', { title, models: ['paged'] })
  const seen: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const query: string = cursor === '' ? 'limit=2' : `limit=2&cursor=${cursor}`
    const page: { data: Incident[]; next: string | null } = await house.admin('GET', `/incidents?${query}`)
    seen.push(...page.data.map(({ id }) => id))
    cursor = page.next
  }
  assert.equal(new Set(seen).size, seen.length)
  assert.equal((await incidentsOf(house, 'paged', 'limit=1000')).length, 3)
})
