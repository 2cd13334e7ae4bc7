/** The pages of usage and requests over a long past, as several people reload them at once. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { keyCalls } from '../src/http/console/contract/keys.ts'
import { percentile, writePast } from './long/large-history.ts'
import { customerOf, operatorOf, type Browser } from './browser.ts'
import { openHouse, type House } from './support/server/test-server.ts'

export const people = 5

const hourMs = 3_600_000

interface Door {
  readonly browser: Browser
  readonly path: string
}

export interface LongPast {
  readonly house: House
  /** Every page, with who may open it. */
  readonly doors: readonly Door[]
  /** How long the dashboard took that was asked for first after the start. */
  readonly firstMs: number
}

/** A relay with so many requests behind it; a tenth of them are one customer's. `prepare` is done before they are written. */
export async function openPast(
  t: TestContext,
  rows: number,
  prepare: (house: House) => Promise<void> = async () => undefined,
): Promise<LongPast> {
  const house = await openHouse(t)
  const models = ['past-a', 'past-b', 'past-c']
  for (const model of models) await house.model(model, { upstreams: [] })
  await prepare(house)
  const boss = await operatorOf(house)
  const ann = await customerOf(house, 'ann@example.com')
  const keys: string[] = []
  for (const name of ['one', 'two', 'three'])
    keys.push((await ann.ask(keyCalls.create, { body: { name } })).id)
  const account = (await ann.session()).account?.id ?? ''
  await house.stop()
  const startedAt = performance.now()
  writePast(house.dataDir, { rows, days: 30, account, keys, models })
  t.diagnostic(`${rows} rows were written in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`)
  await house.restart()
  const firstMs = await visit({ browser: boss, path: '/api/admin/dashboard' })
  t.diagnostic(`the first dashboard took ${firstMs.toFixed(0)} ms`)
  const own = '/api/console'
  const pages = [
    `${own}/overview`,
    `${own}/usage/series?step=day`,
    `${own}/usage/by?group=model`,
    `${own}/usage/latency`,
    `${own}/requests`,
    `${own}/requests?errors=true`,
    `${own}/requests?key=${keys[1]}&model=past-b`,
    `${own}/keys`,
  ]
  const monthAgo = new Date(Math.floor(Date.now() / hourMs) * hourMs - 30 * 24 * hourMs).toISOString()
  const offices = [
    '/api/admin/dashboard',
    '/api/admin/failures',
    '/api/admin/flow',
    `/api/admin/usage?group=model&model=past-b&from=${encodeURIComponent(monthAgo)}`,
    '/api/admin/requests?limit=50',
    '/api/admin/requests?outcome=truncated',
  ]
  const doors = [
    ...pages.map((path) => ({ browser: ann, path })),
    ...offices.map((path) => ({ browser: boss, path })),
  ]
  return { house, doors, firstMs }
}

/** Opens a page: how long it took. */
async function visit({ browser, path }: Door): Promise<number> {
  const start = performance.now()
  const reply = await browser.fetch('GET', path)
  await reply.arrayBuffer()
  assert.equal(reply.status, 200, path)
  return performance.now() - start
}

/** Tells how long the pages took, each reloaded by all at once: milliseconds by path, and the 95th percentile of all. */
export async function measurePages(t: TestContext, past: LongPast, reloads: number): Promise<number> {
  const took = new Map<string, number[]>()
  for (let reload = 0; reload < reloads; reload += 1) {
    for (const door of past.doors) {
      const times = await Promise.all(Array.from({ length: people }, () => visit(door)))
      took.set(door.path, [...(took.get(door.path) ?? []), ...times])
    }
  }
  for (const [path, times] of took) {
    t.diagnostic(
      `${path.replace(/key_\w+/, '…')}: median ${percentile(times, 0.5).toFixed(0)} ms, p95 ${percentile(times, 0.95).toFixed(0)} ms`,
    )
  }
  return percentile([...took.values()].flat(), 0.95)
}

/** People who reload one page after the other, each once a second, until they are told to leave. */
export async function reload(past: LongPast, leave: AbortSignal): Promise<void> {
  const one = async (person: number): Promise<void> => {
    for (let count = person; !leave.aborted; count += 1) {
      const door = past.doors[count % past.doors.length]
      if (door !== undefined) await visit(door)
      await delay(1000, undefined, { signal: leave }).catch(() => undefined)
    }
  }
  await Promise.all(Array.from({ length: people }, (_, person) => one(person * 2)))
}
