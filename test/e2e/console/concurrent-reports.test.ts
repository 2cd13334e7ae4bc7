// @backend sqlite – writes its history straight into a SQLite file
// @suite all – requests hundreds of slow reports
/** Reports of one account delay neither those of others nor replays. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { keyEndpoints } from '../../../src/http/console/account/keys.ts'
import { writeHistory } from '../../long/large-history.ts'
import {
  readError,
  setUpOperator,
  signUpCustomer,
  type ConsoleSession,
} from '../../support/console/console-session.ts'
import { chatRequest } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

/** Reads 20,000 rows, the maximum of a page, and finds none. */
const slowReport = '/api/console/requests?model=none'

const server = await sharedTestServer({ env: { WORKERS: '2' } })
const upstream = await server.upstream(respondWith('Hello!'))
await server.model('m', { upstreams: [upstream] })
const operator = await setUpOperator(server)
const other = await signUpCustomer(server, 'other@example.com')
const busy = await signUpCustomer(server, 'busy@example.com')
await writePastRequests(busy)

/** Gives a customer 20,000 past requests. */
async function writePastRequests(session: ConsoleSession): Promise<void> {
  const { id } = await session.call(keyEndpoints.create, { body: { name: 'one' } })
  const account = (await session.session()).account?.id ?? ''
  await server.stop()
  writeHistory(server.dataDir, { rows: 200_000, days: 30, account, keys: [id], models: ['m'] })
  await server.restart()
}

/** Requests the report many times at once. `pending`: how many have no response yet. */
class ReportFlood {
  readonly #responses: Promise<Response>[]
  pending: number

  constructor(session: ConsoleSession, count: number) {
    this.pending = count
    this.#responses = Array.from({ length: count }, async () => {
      const response = await session.fetch('GET', slowReport)
      this.pending -= 1
      return response
    })
  }

  /** Resolves when the first has a response: all others wait. */
  async begun(): Promise<void> {
    await Promise.race(this.#responses)
  }

  responses(): Promise<Response[]> {
    return Promise.all(this.#responses)
  }
}

/** How many of 40 reports that were requested before have no response yet when this request has one. */
async function reportsOvertakenBy(request: () => Promise<Response>): Promise<number> {
  const flood = new ReportFlood(busy, 40)
  await flood.begun()
  const response = await request()
  const { pending } = flood
  assert.equal(response.status, 200)
  await response.text()
  for (const report of await flood.responses()) {
    assert.equal(report.status, 200)
    assert.deepEqual(((await report.json()) as { data: object[] }).data, [])
  }
  return pending
}

describe('Reports of one account', () => {
  test('40 slow reports at once – another account, an operator and a replay do not wait for them', async () => {
    const account = await server.account({ balance: '1' })
    const headers = { 'idempotency-key': 'replayed' }
    await (await account.post(chatRequest('m'), { headers })).text()
    const waiting: [what: string, request: () => Promise<Response>][] = [
      ['a replay', () => account.post(chatRequest('m'), { headers })],
      ['the overview of another account', () => other.fetch('GET', '/api/console/overview')],
      ['the dashboard of an operator', () => operator.fetch('GET', '/api/admin/dashboard')],
      ['the usage of an API key', () => account.get('/v1/dashboard/billing/usage')],
    ]
    for (const [what, request] of waiting) {
      // Without turns, none overtakes a report. With them one may, if this process reads its response late.
      let overtaken = 0
      for (let attempt = 0; attempt < 5 && overtaken < 10; attempt += 1)
        overtaken = Math.max(overtaken, await reportsOvertakenBy(request))
      assert.ok(overtaken >= 10, `${what} has overtaken ${overtaken} reports`)
    }
  })

  test('160 slow reports at once – some are rejected with 429, the others are answered', async () => {
    const responses = await new ReportFlood(busy, 160).responses()
    const rejected = responses.filter(({ status }) => status === 429)
    assert.ok(rejected.length > 0, 'none was rejected')
    assert.ok(responses.every(({ status }) => status === 200 || status === 429))
    for (const response of rejected) {
      assert.equal(response.headers.get('retry-after'), '5')
      const { code, message } = await readError(response)
      assert.equal(code, 'rate_limit_exceeded')
      assert.match(message, /Too many reports of this account/)
    }
    const later = await busy.fetch('GET', slowReport)
    assert.equal(later.status, 200)
  })

  test('A second export of an account is 429 while the first is read, and one of another is not', async () => {
    const exportOf = (session: ConsoleSession): Promise<Response> =>
      session.fetch('GET', '/api/console/requests.csv')
    const first = await exportOf(busy)
    assert.equal(first.status, 200)
    const second = await exportOf(busy)
    assert.equal(second.status, 429)
    assert.equal(second.headers.get('retry-after'), '5')
    const month = new Date().toISOString().slice(0, 7)
    const pdf = `/api/console/billing/statements/${month}/statement.pdf`
    assert.equal((await busy.fetch('GET', pdf)).status, 429)
    const theirs = await exportOf(other)
    assert.equal(theirs.status, 200)
    await theirs.text()
    assert.equal((await busy.fetch('GET', slowReport)).status, 200)
    await first.text()
    assert.equal((await busy.fetch('GET', pdf)).status, 200)
  })
})
