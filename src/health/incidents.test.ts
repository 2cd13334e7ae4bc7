import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anyStore, ledgerCommit, requestRow, temporaryDb } from '../db/store.fixture.ts'
import type { Db } from '../db/db.ts'
import { forgetMinutes } from '../db/availability-rollup.ts'
import { daysOf, minutesOf, sumOf, sumsSince } from './availability.ts'
import { automaticTitle, closeAutomatic, openAutomatic, watchedIncidents } from './automatic-incidents.ts'
import { createIncident, incidentById, listIncidents, updateIncident } from './incidents.ts'
import { objectiveFor, readObjectives, setObjective } from './objectives.ts'
import { noteLook, publicAddresses } from './public-addresses.ts'
import { RecentOutcomes } from './recent-outcomes.ts'

async function addModel(db: Db, id: string, listed: 0 | 1 = 1): Promise<void> {
  const text = `insert into models (id, context_tokens, hidden_reasoning, owned_by, listed, created_at, updated_at)
    values (?, 1000, 0, 'us', ?, 0, 0)`
  await db.write({ sql: text, parameters: [id, listed] })
}

test('of one model, many who open an incident at once open one; closed lately, it is opened again as the same', async (t) => {
  const db = await temporaryDb(t)
  await addModel(db, 'ill')
  const about = { model: 'ill', severity: 'major', at: Date.now() } as const
  const opened = await Promise.all([1, 2, 3, 4].map(() => openAutomatic(db, about, undefined)))
  const [incident, ...others] = opened.filter((one) => one !== null)
  assert.ok(incident)
  assert.deepEqual(others, [])
  assert.deepEqual([incident.isPublic, incident.title], [true, automaticTitle('ill')])

  const closed = await Promise.all(
    [1, 2].map(() => closeAutomatic(db, incident.id, 'recovered', about.at + 1)),
  )
  assert.equal(closed.filter((one) => one !== null).length, 1)
  const latest = (await watchedIncidents(db, about.at + 2)).get('ill')
  assert.equal(latest?.closedAt, about.at + 1)
  const again = await openAutomatic(db, { ...about, at: about.at + 2 }, latest)
  assert.equal(again?.id, incident.id)
  assert.deepEqual(
    again.posts.map(({ code }) => code),
    ['failing_again', 'recovered', 'failing'],
  )
  assert.equal((await watchedIncidents(db, about.at + 3)).get('ill')?.closedAt, null)
})

test('an incident of a model that is not listed is not for the public', async (t) => {
  const db = await temporaryDb(t)
  await addModel(db, 'hidden', 0)
  const incident = await openAutomatic(db, { model: 'hidden', severity: 'minor', at: 1 }, undefined)
  assert.equal(incident?.isPublic, false)
})

test('incidents are found by being open, public and of late, newest first', async (t) => {
  const db = await temporaryDb(t)
  const old = await createIncident(db, { title: 'old', openedAt: 1, status: 'resolved' }, 'x')
  const open = await createIncident(db, { title: 'open', openedAt: 2, isPublic: false }, 'x')
  const ids = async (filter: object): Promise<string[]> =>
    (await listIncidents(db, { limit: 10, ...filter })).map(({ id }) => id)
  assert.deepEqual(await ids({}), [open.id, old.id])
  assert.deepEqual(await ids({ isOpen: true }), [open.id])
  assert.deepEqual(await ids({ isPublic: true }), [old.id])
  assert.deepEqual(await ids({ since: Date.now() + 1 }), [open.id])
  assert.deepEqual(await ids({ below: { openedAt: 2, id: open.id } }), [old.id])
  await updateIncident(db, open.id, { status: 'resolved', message: 'Done.' }, 'x')
  assert.deepEqual(await ids({ isOpen: true }), [])
  assert.equal((await incidentById(db, open.id)).posts[0]?.message, 'Done.')
})

test('what just ended is counted by model, once, as roll-ups count it too', async (t) => {
  const store = await anyStore(t)
  const { db } = store
  await addModel(db, 'm')
  const now = Date.now()
  const rows = Array.from({ length: 30 }, (_, index) =>
    requestRow(`req_${index}`, {
      at: now - 20_000 + index,
      model: index < 20 ? 'm' : 'unknown',
      outcome: index % 4 === 0 ? 'truncated' : 'ok',
    }),
  )
  // One ended long ago, one has begun long ago.
  const old = requestRow('req_old', { at: now - 7_200_000, model: 'm', outcome: 'failed', http_status: 500 })
  const long = requestRow('req_long', { at: now - 3_600_000, duration_ms: 3_590_000, model: 'm' })
  await store.commit(ledgerCommit(1, { requests: [old, ...rows, long] }))
  const recent = new RecentOutcomes()
  await recent.look(db, now)
  assert.equal(await recent.look(db, now), false)
  assert.deepEqual([...recent.models()], ['m'])
  assert.deepEqual(recent.since('m', 0), { answered: 16, failed: 5 })
  assert.deepEqual(recent.since('m', now - 5000), { answered: 0, failed: 0 })
  assert.ok((recent.lastFailure('m') ?? 0) > now - 25_000)

  const span = { model: 'm', from: now - 1_800_000, to: now + 1 }
  while ((await minutesOf(db, span)).length === 0) await new Promise((resolve) => setTimeout(resolve, 20))
  const ever = { ...span, from: 0 }
  assert.deepEqual(sumOf(await daysOf(db, ever)), { answered: 16, failed: 6, apart: 0 })
  assert.deepEqual(sumOf(await minutesOf(db, span)), { answered: 16, failed: 5, apart: 0 })
  assert.deepEqual((await sumsSince(db, now - 120_000)).get('m'), { answered: 16, failed: 5, apart: 0 })
  await db.write(forgetMinutes(now + 1))
  assert.deepEqual(await minutesOf(db, span), [])
})

test('a model has the objective that was set for it, else the deployment’s', async (t) => {
  const db = await temporaryDb(t)
  await addModel(db, 'strict')
  await setObjective(db, 'strict', 99.99, 'x')
  const objectives = await readObjectives(db, 99.9)
  assert.deepEqual([objectiveFor(objectives, 'strict'), objectiveFor(objectives, 'other')], [0.9999, 0.999])
  await setObjective(db, 'strict', null, 'x')
  assert.equal(objectiveFor(await readObjectives(db, 99.9), 'strict'), 0.999)
})

test('how an address is keeps since when it is so, and how often in a row it failed', async (t) => {
  const db = await temporaryDb(t)
  const url = 'https://relay.example'
  const look = async (problem: string | null) => {
    const [before] = await publicAddresses(db, [url])
    assert.ok(before)
    return noteLook(db, before, { problem, durationMs: 3 })
  }
  const first = await look('HTTP 502')
  const second = await look('ECONNREFUSED')
  assert.deepEqual([second.failures, second.since, second.isWell], [2, first.since, false])
  assert.deepEqual([(await look(null)).failures, (await publicAddresses(db, [url]))[0]?.isWell], [0, true])
})
