/** Known traffic, and every number that pages show of it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { waitForNewestRecord } from '../client/responses.ts'
import { chatRequest, type Account } from '../server/account.ts'
import type { TestServer } from '../server/test-server.ts'
import type { Script } from '../upstream/exchange.ts'
import { respondEndlessly, respondWith, respondWithError } from '../upstream/scripted-responses.ts'
import { waitUntil } from '../wait.ts'

const hourMs = 3_600_000
const preload = new URL('../server/preload/shifted-clock.ts', import.meta.url).href
const startedAt = Date.now()
/**
 * The relay's clock when the pages are read: less than 24 hours after the first requests, but after the end of their hour
 * of the day before, so they are not among those of the last 24 hours. It is a minute past an hour.
 */
const readAt = Math.ceil((startedAt + 23 * hourMs) / hourMs) * hourMs + 60_000
/** At that time it is noon there, so that no day ends during the test. */
const hoursToNoon = 12 - new Date(readAt).getUTCHours()
const timezone = `Etc/GMT${hoursToNoon > 0 ? '-' : '+'}${Math.abs(hoursToNoon)}`
const clockFile = join(mkdtempSync(join(tmpdir(), 'sluice-clock-')), 'ahead')
writeFileSync(clockFile, '0')

/** Of the relay: its clock and time zone. */
export const env = { TIME_ZONE: timezone, NODE_OPTIONS: `--import=${preload}`, CLOCK_AHEAD_FILE: clockFile }
/** The month of the statement, in the account's time zone. */
export const statementMonth = new Date(readAt + hoursToNoon * hourMs).toISOString().slice(0, 7)

/** After the relay, which reads the file, was stopped. */
export function removeClockFile(): void {
  rmSync(dirname(clockFile), { recursive: true })
}

/** Answers, rejects or fails as the question says. Each answer costs ¥0.0022. */
const respondAsAsked: Script = (exchange) => {
  const asked = JSON.stringify(exchange.request.json)
  if (asked.includes('invalid')) return respondWithError(400)(exchange)
  if (asked.includes('fail')) return respondWithError(503)(exchange)
  return respondWith('Hello!', { input: 1000, output: 100 })(exchange)
}

async function ask(account: Account, model: string, questions: readonly string[]): Promise<void> {
  for (const content of questions) {
    const response = await account.post(chatRequest(model, { messages: [{ role: 'user', content }] }))
    await response.text()
  }
}

async function abort(account: Account, model: string): Promise<void> {
  const controller = new AbortController()
  const { signal } = controller
  const response = await account.post(chatRequest(model, { stream: true }), { signal })
  await response.body?.getReader().read()
  controller.abort()
  await waitForNewestRecord(account)
}

/** What the pages must show after `makeTraffic`, each number under one name. */
const recent = {
  spent: 0.0132,
  requests: 10,
  failed: 3,
  revenue: 0.0198,
  allRequests: 14,
  allFailed: 4,
  requestsM: 9,
  failedM: 2,
}
/** With the requests of the day before: two answered, one failed. */
const withOlder = {
  spent: 0.0176,
  requests: 13,
  failed: 4,
  revenue: 0.0242,
  allRequests: 17,
  allFailed: 5,
  requestsM: 12,
  failedM: 3,
}

/** Whether the day before is in the same month, in a time zone with this many hours ahead of UTC. */
function isSameMonth(hoursAhead: number): boolean {
  const [before, now] = [startedAt, readAt].map((at) => new Date(at + hoursAhead * hourMs).getUTCMonth())
  return before === now
}
const month = isSameMonth(hoursToNoon) ? withOlder : recent
const [successMonthM, answeredMonthM, failedMonthM] = isSameMonth(0) ? [81.81, 9, 2] : [87.5, 7, 1]
export const expected = {
  balance: 9.9824,
  balances: 14.9758,
  ...recent,
  spent30: withOlder.spent,
  requests30: withOlder.requests,
  failed30: withOlder.failed,
  revenue30: withOlder.revenue,
  requestsM30: withOlder.requestsM,
  failedM30: withOlder.failedM,
  revenueM30: 0.0198,
  spentMonth: month.spent,
  requestsMonth: month.requests,
  revenueMonth: month.revenue,
  allRequestsMonth: month.allRequests,
  allFailedMonth: month.allFailed,
  requestsMonthM: month.requestsM,
  failureRate: 28.6,
  success: 81.81,
  successM: 87.5,
  successN: 66.66,
  success90M: 81.81,
  successMonthM,
  answeredMonthM,
  failedMonthM,
}
export type Name = keyof typeof expected

/**
 * Two customers, two keys of one of them, three models; answers, errors of callers and of providers, and an abort. Three of
 * the requests are made on the day before.
 */
export async function makeTraffic(server: TestServer, alice: Account): Promise<void> {
  const upstream = await server.upstream(respondAsAsked, { name: 'some-provider' })
  const endless = await server.upstream(respondEndlessly())
  for (const model of ['m', 'n']) await server.model(model, { upstreams: [upstream] })
  await server.model('free', { upstreams: [endless], prices: ['0', '0'] })
  await alice.credit('10')
  await alice.newKey({ name: 'old' })
  await ask(alice, 'm', ['hello', 'hello', 'fail'])
  await waitUntil(async () => (await alice.requests()).length === 3, 'the record of the failure')
  writeFileSync(clockFile, String(readAt - Date.now()))
  const bob = await server.account({ balance: '5' })
  await alice.newKey({ name: 'job' })
  await ask(alice, 'm', ['hello', 'hello'])
  await abort(alice, 'free')
  await alice.newKey({ name: 'app' })
  await ask(alice, 'm', ['hello', 'hello', 'hello', 'invalid', 'fail'])
  await ask(alice, 'n', ['hello'])
  await ask(alice, 'unknown', ['hello'])
  await ask(bob, 'm', ['hello', 'hello'])
  await ask(bob, 'n', ['hello', 'fail'])
  await server.assertNothingHeld()
  await waitUntil(async () => {
    const { today } = await server.admin<{ today: { requests: number } }>('GET', '/dashboard')
    return today.requests === expected.allRequests
  }, 'the count of all requests')
}
