// @backend both (cluster in long runs)
/** Availability counts, incidents that open and close automatically, and incidents that operators post. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { chatRequest, type Account } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWithError, respondWithJson, respondWith } from '../../support/upstream/scripted-responses.ts'
import { scriptedDelay, waitUntil } from '../../support/wait.ts'

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

interface Notification {
  code: string
  params: { model?: string }
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

const server = await sharedTestServer({ env: { INCIDENT_RECOVERY: '2s' } })

async function listIncidents(model: string, query = ''): Promise<Incident[]> {
  const { data } = await server.admin<{ data: Incident[] }>('GET', `/incidents?${query}`)
  return data.filter(({ models }) => models.includes(model))
}

/** Sends requests to the model until `poll` returns a value. */
async function pollUnderTraffic<Found>(
  account: Account,
  model: string,
  poll: () => Promise<Found | undefined>,
): Promise<Found> {
  return waitUntil(async () => {
    await scriptedDelay(100)
    await (await account.post(chatRequest(model))).text()
    return poll()
  }, 'the effect of the traffic')
}

/** Waits until this many requests are counted, and this many that do not count for availability. */
async function waitForAvailability(
  model: string,
  received: number,
  { query = '', excluded = 0 } = {},
): Promise<Availability['data'][0]> {
  const path = `/availability?model=${encodeURIComponent(model)}&${query}`
  return waitUntil(async () => {
    const one = (await server.admin<Availability>('GET', path)).data[0]
    return one && one.total.received >= received && one.total.apart >= excluded ? one : undefined
  }, `${received} requests to ${model} in the counts`)
}

describe('Incidents and availability', () => {
  test('An outage under traffic opens one incident within half a minute, closed on recovery', async () => {
    const upstream = await server.upstream(respondWithError(503))
    await server.model('failing', { upstreams: [upstream] })
    await server.model('healthy', { upstreams: [await server.upstream(respondWith('Hello!'))] })
    const account = await server.account({ balance: '¥1' })
    const opened = await pollUnderTraffic(account, 'failing', async () => {
      await (await account.post(chatRequest('healthy'))).text()
      return (await listIncidents('failing'))[0]
    })
    assert.deepEqual([opened.automatic, opened.public, opened.status], [true, true, 'investigating'])
    assert.deepEqual([opened.severity, opened.models, opened.closed_at], ['critical', ['failing'], null])
    assert.match(opened.updates[0]?.message ?? '', /failing/)

    upstream.always(respondWith('Hello!'))
    const closed = await pollUnderTraffic(account, 'failing', async () => {
      const [one] = await listIncidents('failing')
      return one?.closed_at ? one : undefined
    })
    assert.deepEqual([closed.id, closed.status], [opened.id, 'resolved'])
    assert.equal(closed.updates.length, 2)
    assert.equal((await listIncidents('failing')).length, 1)
    assert.deepEqual(await listIncidents('healthy'), [])
  })

  test('Caller errors, empty balances and rate limits do not count for availability', async () => {
    const upstream = await server.upstream(respondWith('Hello!'))
    await server.model('fair', { upstreams: [upstream] })
    const account = await server.account({ balance: '¥1' })
    const poor = await server.account()
    const slow = await server.account({ balance: '¥1', key: { limits: { rpm: 1 } } })
    for (let sent = 0; sent < 6; sent += 1) {
      await (await account.post(chatRequest('fair'))).text()
      upstream.next(respondWithJson(400, { error: { message: 'too long', code: 'context_length_exceeded' } }))
      assert.equal((await account.post(chatRequest('fair'))).status, 400)
      assert.equal((await account.post(chatRequest('fair', { temperature: 9 }))).status, 400)
      assert.equal((await poor.post(chatRequest('fair'))).status, 402)
      assert.equal((await slow.post(chatRequest('fair'))).status, sent === 0 ? 200 : 429)
      assert.equal((await account.post(chatRequest('unheard-of'))).status, 404)
    }
    const { total, month, spans } = await waitForAvailability('fair', 7, { excluded: 17 })
    assert.deepEqual([total.answered, total.failed, total.success_percent, total.met], [7, 0, 100, true])
    assert.deepEqual([month.answered, spans.length >= 1], [7, true])
    const all = await server.admin<Availability>('GET', '/availability')
    assert.ok(
      !all.data.some(({ model }) => model === 'unheard-of'),
      'a request for an unknown model adds no model',
    )
    assert.deepEqual(await listIncidents('fair'), [])
  })

  test('Availability is answered ÷ received per day and minute, compared with the objective', async () => {
    const upstream = await server.upstream(respondWith('Hello!'))
    await server.model('measured/one', { upstreams: [upstream] })
    const objective = { model: 'measured/one', objective_percent: 60 }
    assert.deepEqual(await server.admin('PUT', '/objectives', objective), objective)
    assert.deepEqual((await server.admin<{ data: object[] }>('GET', '/objectives')).data, [
      { model: null, objective_percent: 99.9 },
      objective,
    ])
    const account = await server.account({ balance: '¥1' })
    for (let sent = 0; sent < 8; sent += 1) {
      if (sent % 4 === 3) upstream.next(respondWithError(502))
      await (await account.post(chatRequest('measured/one'))).text()
    }
    for (const step of ['step=day', 'step=minute']) {
      const { total, spans } = await waitForAvailability('measured/one', 8, { query: step })
      assert.deepEqual([total.answered, total.failed, total.success_percent], [6, 2, 75])
      assert.deepEqual([total.objective_percent, total.met, total.budget_used_percent], [60, true, 62.5])
      assert.equal(
        spans.reduce((sum, span) => sum + span.received, 0),
        8,
      )
    }
    await server.admin('PUT', '/objectives', { ...objective, objective_percent: null })
    const again = await waitForAvailability('measured/one', 8)
    assert.deepEqual([again.total.objective_percent, again.total.met], [99.9, false])
    assert.equal(Math.round(again.burn_rates[0]?.long_burn ?? 0), 250)
    const invalid = await server.relay.adminResponse('PUT', '/objectives', {
      ...objective,
      objective_percent: 100,
    })
    assert.equal(invalid.status, 400)
  })

  test('A manual incident is opened, updated, resolved and reopened', async () => {
    const fields = { title: 'Maintenance', models: ['fair'], severity: 'major', message: 'We begin.' }
    const created = await server.admin<Incident>('POST', '/incidents', { ...fields, public: false })
    assert.deepEqual([created.automatic, created.public, created.status], [false, false, 'investigating'])
    await server.admin('PATCH', `/incidents/${created.id}`, {
      status: 'identified',
      message: 'Found.',
      public: true,
    })
    const resolved = await server.admin<Incident>('PATCH', `/incidents/${created.id}`, { status: 'resolved' })
    assert.ok(resolved.closed_at !== null && resolved.public)
    assert.deepEqual(
      resolved.updates.map(({ status, message }) => [status, message]),
      [
        ['identified', 'Found.'],
        ['investigating', 'We begin.'],
      ],
    )
    const again = await server.admin<Incident>('PATCH', `/incidents/${created.id}`, { status: 'monitoring' })
    assert.equal(again.closed_at, null)
    assert.ok((await listIncidents('fair', 'open=true')).some(({ id }) => id === created.id))
    await server.admin('PATCH', `/incidents/${created.id}`, { status: 'resolved' })
    for (const [method, path, body, status] of [
      ['POST', '/incidents', { title: '' }, 400],
      ['POST', '/incidents', { title: 'x', opened_at: '2999-01-01T00:00:00Z' }, 400],
      ['POST', '/incidents', { title: 'x', colour: 'red' }, 400],
      ['PATCH', '/incidents/inc_none', { status: 'resolved' }, 404],
      ['GET', '/incidents?cursor=bm8', undefined, 400],
    ] as const) {
      assert.equal((await server.relay.adminResponse(method, path, body)).status, status, `${method} ${path}`)
    }
  })

  test('The list of incidents has every incident once over its pages', async () => {
    for (const title of ['one', 'two', 'three'])
      await server.admin('POST', '/incidents', { title, models: ['paged'] })
    const seen: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const query: string = cursor === '' ? 'limit=2' : `limit=2&cursor=${cursor}`
      const page: { data: Incident[]; next: string | null } = await server.admin('GET', `/incidents?${query}`)
      seen.push(...page.data.map(({ id }) => id))
      cursor = page.next
    }
    assert.equal(new Set(seen).size, seen.length)
    assert.equal((await listIncidents('paged', 'limit=1000')).length, 3)
  })

  test('An open incident survives kill -9 without a duplicate and is closed after the restart', async () => {
    const upstream = await server.upstream(respondWithError(500))
    await server.model('crashed', { upstreams: [upstream] })
    const account = await server.account({ balance: '¥1' })
    const [opened] = [
      await pollUnderTraffic(account, 'crashed', async () => (await listIncidents('crashed'))[0]),
    ]
    await server.kill()
    await server.restart()
    // The roll-ups from before the crash are kept, so the burn rate alerts with the first check.
    await pollUnderTraffic(account, 'crashed', async () => {
      const path = '/notices?audience=operator&limit=1000'
      const { data } = await server.admin<{ data: Notification[] }>('GET', path)
      const codes = data.filter(({ params }) => params.model === 'crashed').map(({ code }) => code)
      return ['fast_burn', 'slow_burn', 'model_failing'].every((code) => codes.includes(code)) || undefined
    })
    for (let sent = 0; sent < 10; sent += 1) await (await account.post(chatRequest('crashed'))).text()
    upstream.always(respondWith('Hello!'))
    await pollUnderTraffic(account, 'crashed', async () => (await listIncidents('crashed', 'open=false'))[0])
    assert.deepEqual(
      (await listIncidents('crashed')).map(({ id }) => id),
      [opened.id],
    )
  })
})
