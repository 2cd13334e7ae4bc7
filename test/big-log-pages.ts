/** The pages of usage and requests over a long past, as several people reload them at once. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { keyCalls } from '../src/http/console/contract/keys.ts'
import { percentile, writePast } from './big-logs.ts'
import { customerOf, operatorOf } from './browser.ts'
import { openHouse } from './house.ts'
import { saying } from './scripts.ts'

const people = 5

/** Tells how long the pages took: milliseconds by path, and the 95th percentile of all. */
export async function measurePages(t: TestContext, rows: number, reloads: number): Promise<number> {
  const house = await openHouse(t)
  const upstream = await house.upstream(saying('Hello!'))
  const models = ['past-a', 'past-b', 'past-c']
  for (const model of models) await house.model(model, { upstreams: [upstream] })
  const boss = await operatorOf(house)
  const ann = await customerOf(house, 'ann@example.com')
  const keys: string[] = []
  for (const name of ['one', 'two', 'three'])
    keys.push((await ann.ask(keyCalls.create, { body: { name } })).id)
  const account = (await ann.session()).account?.id ?? ''
  await house.stop()
  writePast(house.dataDir, { rows, days: 30, account, keys, models })
  await house.restart()
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
  const offices = ['/api/admin/dashboard', '/api/admin/failures', '/api/admin/requests?limit=50']
  const took = new Map<string, number[]>()
  const visit = async (browser: typeof ann, path: string): Promise<void> => {
    const start = performance.now()
    const reply = await browser.fetch('GET', path)
    await reply.arrayBuffer()
    assert.equal(reply.status, 200, path)
    took.set(path, [...(took.get(path) ?? []), performance.now() - start])
  }
  for (let reload = 0; reload < reloads; reload += 1) {
    const doors = [
      ...pages.map((path) => [ann, path] as const),
      ...offices.map((path) => [boss, path] as const),
    ]
    for (const [browser, path] of doors) {
      await Promise.all(Array.from({ length: people }, () => visit(browser, path)))
    }
  }
  for (const [path, times] of took) {
    t.diagnostic(
      `${path.replace(/key_\w+/, '…')}: median ${percentile(times, 0.5).toFixed(0)} ms, p95 ${percentile(times, 0.95).toFixed(0)} ms`,
    )
  }
  return percentile([...took.values()].flat(), 0.95)
}
