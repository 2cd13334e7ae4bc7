// @backend both
/** `/metrics`: what alerts are built from, with names and types as Prometheus expects them. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { chatRequest } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

const server = await sharedTestServer()
const upstream = await server.upstream(respondWith('Hello!', { input: 12, output: 6 }), { name: 'one' })
await server.model('m', { upstreams: [upstream], prices: ['0.002', '0.008'] })

async function readMetrics(): Promise<string> {
  return (await fetch(`${server.url}/metrics`)).text()
}

/** The value of one series, as `name{labels}`; undefined if it is absent. */
function valueOf(text: string, series: string): number | undefined {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length))
}

describe('Metrics', () => {
  test('Request – is counted by model and upstream, with tokens and money', async () => {
    const account = await server.account({ balance: '¥1' })
    assert.equal((await account.post(chatRequest('m'))).status, 200)
    assert.equal((await account.post(chatRequest('m', { stream: true }))).status, 200)
    const labels = 'model="m",upstream="one"'
    await waitUntil(async () => {
      const seen = await readMetrics()
      // Workers report successful attempts in batches.
      const isReported = valueOf(seen, 'sluice_attempts_total{outcome="answered",upstream="one"}') === 2
      return isReported && valueOf(seen, `sluice_request_duration_seconds_count{${labels}}`) === 2
    })
    const text = await readMetrics()
    for (const [series, value] of Object.entries({
      [`sluice_requests_total{outcome="ok",stream="0",${labels}}`]: 1,
      [`sluice_requests_total{outcome="ok",stream="1",${labels}}`]: 1,
      [`sluice_tokens_total{direction="input",${labels}}`]: 24,
      [`sluice_tokens_total{direction="output",${labels}}`]: 12,
      [`sluice_charged_total{currency="CNY",${labels}}`]: 0.000144,
      [`sluice_charged_yuan_total{${labels}}`]: 0.000144,
      'sluice_overrun_total{currency="CNY"}': 0,
      sluice_overrun_yuan: 0,
      [`sluice_first_token_seconds_count{${labels}}`]: 1,
      'sluice_attempts_total{outcome="failed",upstream="one"}': 0,
    }))
      assert.equal(valueOf(text, series), value, series)
  })

  test('Rejections – start at 0 and are counted by code', async () => {
    const series = (code: string) => `sluice_refusals_total{code="${code}"}`
    const before = await readMetrics()
    for (const code of ['insufficient_quota', 'model_not_found', 'rate_limit_exceeded', 'server_error'])
      assert.equal(valueOf(before, series(code)), 0, code)
    const account = await server.account({ balance: '¥1' })
    assert.equal((await account.post(chatRequest('unknown'))).status, 404)
    assert.equal(valueOf(await readMetrics(), series('model_not_found')), 1)
  })

  test('Unknown keys – are counted, and logged once per network', async () => {
    const name = 'sluice_authentication_failures_total'
    const before = valueOf(await readMetrics(), name) ?? 0
    const headers = { authorization: `Bearer sk-${'0'.repeat(48)}`, 'content-type': 'application/json' }
    for (let count = 0; count < 5; count += 1) {
      const body = JSON.stringify(chatRequest('m'))
      const response = await fetch(`${server.url}/v1/chat/completions`, { method: 'POST', headers, body })
      assert.equal(response.status, 401)
    }
    assert.equal((valueOf(await readMetrics(), name) ?? 0) - before, 5)
    const written = () => server.relay.lines.filter((line) => line.includes('authentication failed'))
    await waitUntil(() => written().length > 0)
    const lines = written()
    // One line for each worker.
    assert.ok(lines.length <= 2, lines.join('\n'))
    for (const line of lines) assert.equal((JSON.parse(line) as { network: string }).network, '127.0.0.1')
  })

  test('Node – reports its build, process, disk, ledger, incidents and notifications', async () => {
    const text = await readMetrics()
    for (const name of [
      'process_start_time_seconds',
      'process_open_fds',
      'nodejs_heap_size_used_bytes',
      'sluice_disk_free_bytes',
      'sluice_ledger_commit_seconds_count',
      'sluice_ledger_commits_total',
      'sluice_database_query_seconds_count{kind="read"}',
    ])
      assert.ok(Number(valueOf(text, name)) > 0, name)
    assert.match(text, /^sluice_build_info\{version="\d+\.\d+\.\d+",node="\d+\.\d+\.\d+"\} 1$/m)
    assert.equal(valueOf(text, 'sluice_ledger_consistent'), 1)
    assert.equal(valueOf(text, 'sluice_workers_replaced_total'), 0)
    assert.equal(valueOf(text, 'sluice_incidents_open'), 0)
    assert.equal(valueOf(text, 'sluice_notifications_undelivered'), 0)
    for (const thread of ['main', 'worker-1'])
      assert.notEqual(valueOf(text, `sluice_event_loop_lag_seconds{thread="${thread}"}`), undefined)
  })

  test('Newest backup – is reported with its time', async () => {
    const name = 'sluice_last_backup_timestamp_seconds'
    assert.equal(valueOf(await readMetrics(), name), undefined)
    await server.admin('POST', '/backups', {})
    await waitUntil(async () => valueOf(await readMetrics(), name) !== undefined)
    assert.ok(Math.abs(Number(valueOf(await readMetrics(), name)) - Date.now() / 1000) < 600)
  })

  test('Names – follow the rules of Prometheus for counters and units', async () => {
    const types = Array.from(
      (await readMetrics()).matchAll(/^# TYPE (\S+) (\S+)$/gm),
      ([, name = '', type]) => ({
        name,
        type,
      }),
    )
    assert.ok(types.length > 20)
    for (const { name, type } of types) {
      assert.equal(name.endsWith('_total'), type === 'counter', `${name} is a ${type}`)
      assert.doesNotMatch(name, /_(ms|milliseconds|minutes|hours|kilobytes|mb|percent|count|sum|bucket)$/)
      assert.match(name, /^(sluice|process|nodejs)_[a-z_]+$/)
    }
  })
})
