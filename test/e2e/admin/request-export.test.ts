// @backend both
/** The export of a day's requests as CSV. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { chatRequest } from '../../support/server/account.ts'
import { commandLineFor } from '../../support/server/command-line.ts'
import { expectError, type List } from '../../support/client/admin-api.ts'
import { startTestServer, type TestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

const dayMs = 86_400_000

/** The rows of a day's export, without the header. */
async function exportRows(server: TestServer, query: string): Promise<string[]> {
  const response = await server.relay.adminResponse('GET', `/requests.csv?${query}`)
  assert.equal(response.status, 200)
  assert.match(response.headers.get('content-type') ?? '', /^text\/csv/)
  assert.match(response.headers.get('x-request-id') ?? '', /^req_/)
  const text = await response.text()
  assert.match(
    text,
    /^time,request_id,account,key,.*,attempts,account_email,key_name,error_code,failure,clamped,model_served,provider_response_id,fingerprint,operation,service_tier,units\r\n/,
  )
  assert.ok(text.endsWith('\r\n'))
  return text.split('\r\n').slice(1, -1)
}

describe('Request export', () => {
  test('Requests of a day – are exported as CSV over HTTP and CLI, for all accounts or one', async (t) => {
    const server = await startTestServer(t)
    const upstream = await server.upstream(respondWith('Hello!', { input: 10, output: 500 }))
    await server.model('m', { upstreams: [upstream], prices: ['0.002', '0.008'] })
    const alice = await server.account({ balance: '1' })
    const bob = await server.account({ balance: '1' })
    for (const caller of [alice, bob]) await (await caller.post(chatRequest('m'))).text()
    assert.equal((await alice.post(chatRequest('=cmd|x,"y"'))).status, 404)
    // The record of a rejected request is written shortly after its response.
    const records = await waitUntil(async () => {
      const { data } = await server.admin<List>('GET', `/requests?account=${alice.id}`)
      return data.length >= 2 ? data : undefined
    }, 'both records')
    const day = String(records[0]?.['time']).slice(0, 10)

    const lines = await exportRows(server, `day=${day}`)
    assert.equal(lines.length, 3)
    const ownLines = await exportRows(server, `day=${day}&account=${alice.id}`)
    assert.deepEqual(
      ownLines.map((line) => line.split(',').slice(0, 3)),
      records.map((record) => [record['time'], record['request_id'], alice.id]),
    )
    assert.match(ownLines[0] ?? '', /,"'=cmd\|x,""y""",/)
    assert.match(ownLines[1] ?? '', /,10,0,500,0,provider,0\.00402,CNY,/)
    const { email } = await alice.state()
    assert.partialDeepStrictEqual(records[1], { account_email: email, key_name: 'test' })
    const before = new Date(Date.parse(day) - dayMs).toISOString().slice(0, 10)
    assert.deepEqual(await exportRows(server, `day=${before}`), [])
    const range = `from=${day}T00:00:00Z&account=${alice.id}`
    assert.deepEqual(await exportRows(server, range), ownLines)
    assert.deepEqual(await exportRows(server, `${range}&outcome=ok&model=m&key=${alice.key.id}`), [
      ownLines[1],
    ])
    assert.deepEqual(await exportRows(server, `${range}&operation=embeddings`), [])
    assert.equal(await expectError(server, 400, ['GET', '/requests?operation=other']), 'operation')
    assert.deepEqual(await exportRows(server, `${range}&to=${day}T00:00:00Z`), [])
    const both = `day=${day}&from=${day}T00:00:00Z`
    for (const wrong of ['day=2026-02-30', 'day=today', both]) {
      assert.equal(await expectError(server, 400, ['GET', `/requests.csv?${wrong}`]), 'day')
    }
    for (const absent of ['acc_zzz', 'nobody@example.com'])
      await expectError(server, 404, ['GET', `/requests.csv?day=${day}&account=${absent}`])

    const sluice = commandLineFor(server.relay)
    const args = ['requests', 'export', '--day', day]
    const filters = [
      '--from',
      `${day}T00:00:00Z`,
      '--model',
      'm',
      '--outcome',
      'ok',
      '--operation',
      'chat',
      '--key',
      alice.key.id,
    ]
    const [all, bobs, filtered, unknown, wrongDay, help] = await Promise.all([
      sluice.output(args),
      sluice.output([...args, '--account', bob.id]),
      sluice.output(['requests', 'export', ...filters, '--account', email]),
      sluice.expectFailure([...args, '--account', 'acc_zzz']),
      sluice.expectFailure(['requests', 'export', '--day', 'today']),
      sluice.output(['requests', 'export', '--help']),
    ])
    assert.deepEqual(all.split('\r\n').slice(1, -1), lines)
    assert.deepEqual(
      bobs.split('\r\n').slice(1, -1),
      lines.filter((line) => line.includes(bob.id)),
    )
    assert.deepEqual(filtered.split('\r\n').slice(1, -1), [ownLines[1]])
    assert.match(unknown, /Account not found/)
    assert.match(wrongDay, /a date such as/)
    assert.match(help, /\$ sluice requests export --day/)
    await server.assertNoOpenHolds()
    await server.stop()
    assert.deepEqual((await sluice.output(args)).split('\r\n').slice(1, -1), lines)
  })
})
