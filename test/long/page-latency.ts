/** The latency of the pages of usage and requests over a large history, with several users reloading at once. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { keyEndpoints } from '../../src/http/console/account/keys.ts'
import { percentile, writeHistory } from './large-history.ts'
import { signUpCustomer, setUpOperator, type ConsoleSession } from '../support/console/console-session.ts'
import { startTestServer, type TestServer } from '../support/server/test-server.ts'
import { scriptedDelay } from '../support/wait.ts'

export const userCount = 5

const hourMs = 3_600_000

interface PageRequest {
  readonly browser: ConsoleSession
  readonly path: string
}

export interface LargeHistory {
  readonly server: TestServer
  /** Every page, with a session that may open it. */
  readonly pages: readonly PageRequest[]
  /** The latency of the first dashboard after the start. */
  readonly firstMs: number
}

/** Starts a relay with this many past requests, a tenth of them one customer's. `prepare` runs before they are written. */
export async function startWithHistory(
  t: TestContext,
  rows: number,
  prepare: (server: TestServer) => Promise<void> = async () => undefined,
): Promise<LargeHistory> {
  const server = await startTestServer(t)
  const models = ['past-a', 'past-b', 'past-c']
  for (const model of models) await server.model(model, { upstreams: [] })
  await prepare(server)
  const operator = await setUpOperator(server)
  const customer = await signUpCustomer(server, 'ann@example.com')
  const keys: string[] = []
  for (const name of ['one', 'two', 'three'])
    keys.push((await customer.call(keyEndpoints.create, { body: { name } })).id)
  const account = (await customer.session()).account?.id ?? ''
  await server.stop()
  const startedAt = performance.now()
  writeHistory(server.dataDir, { rows, days: 30, account, keys, models })
  t.diagnostic(`${rows} rows were written in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`)
  await server.restart()
  const firstMs = await loadPage({ browser: operator, path: '/api/admin/dashboard' })
  t.diagnostic(`the first dashboard took ${firstMs.toFixed(0)} ms`)
  const consolePath = '/api/console'
  const customerPaths = [
    `${consolePath}/overview`,
    `${consolePath}/usage/series?step=day`,
    `${consolePath}/usage/by?group=model`,
    `${consolePath}/usage/latency`,
    `${consolePath}/requests`,
    `${consolePath}/requests?errors=true`,
    `${consolePath}/requests?key=${keys[1]}&model=past-b`,
    `${consolePath}/keys`,
  ]
  const monthAgo = new Date(Math.floor(Date.now() / hourMs) * hourMs - 30 * 24 * hourMs).toISOString()
  const operatorPaths = [
    '/api/admin/dashboard',
    '/api/admin/failures',
    '/api/admin/flow',
    `/api/admin/usage?group=model&model=past-b&from=${encodeURIComponent(monthAgo)}`,
    '/api/admin/requests?limit=50',
    '/api/admin/requests?outcome=truncated',
  ]
  const allPages = [
    ...customerPaths.map((path) => ({ browser: customer, path })),
    ...operatorPaths.map((path) => ({ browser: operator, path })),
  ]
  return { server, pages: allPages, firstMs }
}

/** Loads a page and returns its latency. */
async function loadPage({ browser, path }: PageRequest): Promise<number> {
  const start = performance.now()
  const response = await browser.fetch('GET', path)
  await response.arrayBuffer()
  assert.equal(response.status, 200, path)
  return performance.now() - start
}

/** Loads each page as all users at once, prints the latencies by path, and returns the 95th percentile of all. */
export async function measurePages(t: TestContext, history: LargeHistory, reloads: number): Promise<number> {
  const timesByPath = new Map<string, number[]>()
  for (let reload = 0; reload < reloads; reload += 1) {
    for (const page of history.pages) {
      const times = await Promise.all(Array.from({ length: userCount }, () => loadPage(page)))
      timesByPath.set(page.path, [...(timesByPath.get(page.path) ?? []), ...times])
    }
  }
  for (const [path, times] of timesByPath) {
    t.diagnostic(
      `${path.replace(/key_\w+/, '…')}: median ${percentile(times, 0.5).toFixed(0)} ms, p95 ${percentile(times, 0.95).toFixed(0)} ms`,
    )
  }
  return percentile([...timesByPath.values()].flat(), 0.95)
}

/** Users who reload one page after the other, each once a second, until the signal is aborted. */
export async function reloadPages(history: LargeHistory, signal: AbortSignal): Promise<void> {
  const reloadAs = async (user: number): Promise<void> => {
    for (let count = user; !signal.aborted; count += 1) {
      const page = history.pages[count % history.pages.length]
      if (page !== undefined) await loadPage(page)
      await scriptedDelay(1000, signal)
    }
  }
  await Promise.all(Array.from({ length: userCount }, (_, user) => reloadAs(user * 2)))
}
