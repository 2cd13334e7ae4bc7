import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openTemporaryDb } from '../db/store.fixture.ts'
import type { Db } from '../db/db.ts'
import {
  automaticTitle,
  closeAutomaticIncident,
  openAutomaticIncident,
  listMonitoredIncidents,
} from './automatic-incidents.ts'
import { createIncident, incidentById, listIncidents, updateIncident } from './incidents.ts'
import { objectiveFor, readObjectives, setObjective } from './objectives.ts'
import { recordAddressCheck, listPublicAddresses } from './public-addresses.ts'

async function addModel(db: Db, id: string, listed: 0 | 1 = 1): Promise<void> {
  const text = `insert into models (id, context_tokens, hidden_reasoning, owned_by, listed, created_at, updated_at)
    values (?, 1000, 0, 'us', ?, 0, 0)`
  await db.write({ sql: text, parameters: [id, listed] })
}

describe('incidents', () => {
  test('automatic incidents – one per model under concurrency; reopened soon after closing', async (t) => {
    const db = await openTemporaryDb(t)
    await addModel(db, 'ill')
    const about = { model: 'ill', severity: 'major', at: Date.now() } as const
    const opened = await Promise.all([1, 2, 3, 4].map(() => openAutomaticIncident(db, about, undefined)))
    const [incident, ...others] = opened.filter((one) => one !== null)
    assert.ok(incident)
    assert.deepEqual(others, [])
    assert.deepEqual([incident.isPublic, incident.title], [true, automaticTitle('ill')])

    const closed = await Promise.all(
      [1, 2].map(() =>
        closeAutomaticIncident(db, { id: incident.id, model: 'ill' }, 'recovered', about.at + 1),
      ),
    )
    assert.equal(closed.filter((one) => one !== null).length, 1)
    const latest = (await listMonitoredIncidents(db, about.at + 2)).get('ill')
    assert.equal(latest?.closedAt, about.at + 1)
    const again = await openAutomaticIncident(db, { ...about, at: about.at + 2 }, latest)
    assert.equal(again?.id, incident.id)
    assert.deepEqual(
      again.posts.map(({ code }) => code),
      ['failing_again', 'recovered', 'failing'],
    )
    assert.equal((await listMonitoredIncidents(db, about.at + 3)).get('ill')?.closedAt, null)
  })

  test('automatic incidents – are not public for unlisted models', async (t) => {
    const db = await openTemporaryDb(t)
    await addModel(db, 'hidden', 0)
    const incident = await openAutomaticIncident(db, { model: 'hidden', severity: 'minor', at: 1 }, undefined)
    assert.equal(incident?.isPublic, false)
  })

  test('listIncidents – filters by open, public and time, newest first', async (t) => {
    const db = await openTemporaryDb(t)
    const old = await createIncident(db, { title: 'old', openedAt: 1, status: 'resolved' }, 'x')
    const open = await createIncident(db, { title: 'open', openedAt: 2, isPublic: false }, 'x')
    const ids = async (filter: object): Promise<string[]> =>
      (await listIncidents(db, { limit: 10, ...filter })).map(({ id }) => id)
    assert.deepEqual(await ids({}), [open.id, old.id])
    assert.deepEqual(await ids({ isOpen: true }), [open.id])
    assert.deepEqual(await ids({ isPublic: true }), [old.id])
    assert.deepEqual(await ids({ since: Date.now() + 1 }), [open.id])
    assert.deepEqual(await ids({ before: { openedAt: 2, id: open.id } }), [old.id])
    await updateIncident(db, open.id, { status: 'resolved', message: 'Done.' }, 'x')
    assert.deepEqual(await ids({ isOpen: true }), [])
    assert.equal((await incidentById(db, open.id)).posts[0]?.message, 'Done.')
  })
})

describe('objectives', () => {
  test('objectives – a model has its own, else the default', async (t) => {
    const db = await openTemporaryDb(t)
    await addModel(db, 'strict')
    await setObjective(db, 'strict', 99.99, 'x')
    const objectives = await readObjectives(db, 99.9)
    assert.deepEqual([objectiveFor(objectives, 'strict'), objectiveFor(objectives, 'other')], [0.9999, 0.999])
    await setObjective(db, 'strict', null, 'x')
    assert.equal(objectiveFor(await readObjectives(db, 99.9), 'strict'), 0.999)
  })
})

describe('public addresses', () => {
  test('recordAddressCheck – keeps the time of the state and the consecutive failures', async (t) => {
    const db = await openTemporaryDb(t)
    const url = 'https://relay.example'
    const check = async (problem: string | null) => {
      const [before] = await listPublicAddresses(db, [url])
      assert.ok(before)
      return recordAddressCheck(db, before, { problem, durationMs: 3 })
    }
    const first = await check('HTTP 502')
    const second = await check('ECONNREFUSED')
    assert.deepEqual([second.failures, second.since, second.isHealthy], [2, first.since, false])
    assert.deepEqual(
      [(await check(null)).failures, (await listPublicAddresses(db, [url]))[0]?.isHealthy],
      [0, true],
    )
  })
})
