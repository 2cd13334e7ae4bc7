// @backend both
// @suite all – restarts the relay
/** A flood of rejected requests: bounded rows and log lines, and numbers that count every one. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { chatRequest, type Account, type RequestRecord } from '../../support/server/account.ts'
import type { List } from '../../support/client/admin-api.ts'
import { sendChatRequest, sendConcurrently, type CallResult } from '../../support/client/parallel-requests.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

const maxRows = 60
const perCode = 400
const minuteMs = 60_000

const server = await sharedTestServer({ env: { WORKERS: '2' } })
const upstream = await server.upstream(respondWith('Hello!', { input: 1, output: 1 }))
await server.model('m', { upstreams: [upstream] })

/** What is rejected with which status and code. */
const rejections = [
  { body: chatRequest('m', { max_tokens: 10 }), status: 402, code: 'insufficient_quota' },
  { body: chatRequest('none'), status: 404, code: 'model_not_found' },
  { body: chatRequest('m', { max_tokens: 100_000 }), status: 429, code: 'rate_limit_exceeded' },
]
const total = rejections.length * perCode

/** The values of a metric by its label; '' without one. */
async function readMetric(name: string): Promise<Map<string, number>> {
  const text = await (await fetch(`${server.url}/metrics`)).text()
  const series = text.matchAll(new RegExp(`^${name}(?:\\{code="(\\w+)"\\})? (\\d+)$`, 'gm'))
  return new Map(Array.from(series, ([, code = '', value]) => [code, Number(value)]))
}

function sumOf(records: readonly { readonly count: number }[]): number {
  return records.reduce((sum, { count }) => sum + count, 0)
}

function listRejected(account: Account): Promise<RequestRecord[]> {
  return account.requests({ outcome: 'refused', limit: '200' })
}

/** The minute may end meanwhile, so the rows of two minutes are possible. */
function assertBounded(records: readonly RequestRecord[]): void {
  const minutes = Map.groupBy(records, ({ time }) => Math.floor(Date.parse(time) / minuteMs))
  assert.ok(minutes.size <= 2, `${minutes.size} minutes`)
  for (const inMinute of minutes.values()) {
    const shared = inMinute.filter(({ count }) => count > 1)
    assert.equal(new Set(shared.map(({ http_status: status }) => status)).size, shared.length)
    assert.ok(inMinute.length <= maxRows + rejections.length, `${inMinute.length} rows in a minute`)
  }
}

async function assertReported(account: Account): Promise<void> {
  const usage = await server.admin<List>('GET', `/usage?group=key&account=${account.id}`)
  assert.partialDeepStrictEqual(usage.data, [{ requests: total, errors: total, cost: '0' }])
  const causes = await waitUntil(async () => {
    const { data } = await server.admin<List>('GET', '/failures')
    const counts = new Map<unknown, number>()
    for (const { cause, count } of data) counts.set(cause, (counts.get(cause) ?? 0) + Number(count))
    return rejections.every(({ code }) => (counts.get(code) ?? 0) >= perCode) ? counts : undefined
  }, 'the failures')
  assert.equal(causes.get('rate_limit_exceeded'), perCode)
  const day = new Date().toISOString().slice(0, 10)
  const csv = await (
    await server.relay.adminResponse('GET', `/requests.csv?day=${day}&account=${account.id}`)
  ).text()
  const [head = '', ...lines] = csv.trim().split('\r\n')
  const column = head.split(',').indexOf('count')
  assert.equal(sumOf(lines.map((line) => ({ count: Number(line.split(',')[column]) }))), total)
}

describe('Flood of rejected requests', () => {
  test('One key – has bounded rows and log lines, and every number counts all of them', async () => {
    const account = await server.account({ key: { limits: { tpm: 50_000 } } })
    const other = await server.account()
    const results: CallResult[] = []
    for (const { body, status, code } of rejections) {
      const answered = await sendConcurrently(account, server.url, body, perCode)
      for (const result of answered) assert.deepEqual([result.status, result.code], [status, code])
      results.push(...answered)
    }
    await sendChatRequest(other, server.url, chatRequest('none'))
    await waitUntil(async () => (await listRejected(other))[0], 'the row of the other key')
    const counted = await readMetric('sluice_refusals_total')
    for (const { code } of rejections)
      assert.equal(counted.get(code), code === 'model_not_found' ? perCode + 1 : perCode)
    const summed = await waitUntil(async () => {
      const value = (await readMetric('sluice_refusals_summed_total')).get('') ?? 0
      return value >= total - 2 * maxRows ? value : undefined
    }, 'all reports of the workers')
    assert.ok(summed <= total - maxRows)

    await server.restart()
    const records = await listRejected(account)
    assertBounded(records)
    for (const { status } of rejections)
      assert.equal(sumOf(records.filter(({ http_status: each }) => each === status)), perCode)
    const lines = server.log
      .filter((line) => line.includes('"request rejected"') && line.includes(account.key.id))
      .map((line) => JSON.parse(line) as { request: string; count?: number })
    assert.equal(sumOf(lines.map(({ count = 1 }) => ({ count }))), total)
    assert.deepEqual(
      lines.map(({ request }) => request).toSorted(),
      records.map(({ request_id: id }) => id).toSorted(),
    )
    await assertReported(account)

    const known = new Map(records.map((record) => [record.request_id, record.count]))
    const ids = results.map(({ headers }) => String(headers['x-request-id']))
    assert.equal(ids.filter((id) => known.has(id)).length, known.size)
    const sharing = ids.find((id) => !known.has(id)) ?? ''
    const shared = ids.find((id) => (known.get(id) ?? 0) > 1) ?? ''
    assert.equal((await account.get(`/v1/requests/${sharing}`)).status, 404)
    const record = (await (await account.get(`/v1/requests/${shared}`)).json()) as RequestRecord
    assert.equal(record.count, known.get(shared))
  })
})
