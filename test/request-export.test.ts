/** The requests of a day as CSV, for whoever keeps them elsewhere. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { question } from './support/server/account.ts'
import { commandsOf } from './support/server/command-line.ts'
import { refused, type List } from './contract.ts'
import { openHouse, type House } from './support/server/test-server.ts'
import { saying } from './support/upstream/scripted-responses.ts'

const dayMs = 86_400_000

/** The lines of a day's file, without the head and its ending. */
async function linesOf(house: House, query: string): Promise<string[]> {
  const reply = await house.relay.adminReply('GET', `/requests.csv?${query}`)
  assert.equal(reply.status, 200)
  assert.match(reply.headers.get('content-type') ?? '', /^text\/csv/)
  assert.match(reply.headers.get('x-request-id') ?? '', /^req_/)
  const text = await reply.text()
  assert.match(text, /^time,request_id,account,key,.*,attempts\r\n/)
  assert.ok(text.endsWith('\r\n'))
  return text.split('\r\n').slice(1, -1)
}

test('a day of requests is written as CSV, over HTTP and by the command line, of all accounts or one', async (t) => {
  const house = await openHouse(t)
  const upstream = await house.upstream(saying('Hello!', { input: 10, output: 500 }))
  await house.model('m', { upstreams: [upstream], prices: ['0.002', '0.008'] })
  const alice = await house.account({ balance: '1' })
  const bob = await house.account({ balance: '1' })
  for (const caller of [alice, bob]) await (await caller.post(question('m'))).text()
  assert.equal((await alice.post(question('=cmd|x,"y"'))).status, 404)
  // A refusal is answered at once and written a little later.
  let records: List['data'] = []
  for (const start = performance.now(); records.length < 2; await delay(10)) {
    ;({ data: records } = await house.admin<List>('GET', `/requests?account=${alice.id}`))
    assert.ok(performance.now() - start < 60_000, `${records.length} rows`)
  }
  const day = String(records[0]?.['time']).slice(0, 10)

  const lines = await linesOf(house, `day=${day}`)
  assert.equal(lines.length, 3)
  const own = await linesOf(house, `day=${day}&account=${alice.id}`)
  assert.deepEqual(
    own.map((line) => line.split(',').slice(0, 3)),
    records.map((record) => [record['time'], record['request_id'], alice.id]),
  )
  assert.match(own[0] ?? '', /,"'=cmd\|x,""y""",/)
  assert.match(own[1] ?? '', /,10,0,500,0,provider,0\.00402,CNY,/)
  const before = new Date(Date.parse(day) - dayMs).toISOString().slice(0, 10)
  assert.deepEqual(await linesOf(house, `day=${before}`), [])
  for (const wrong of ['', 'day=2026-02-30', 'day=today']) {
    assert.equal(await refused(house, 400, ['GET', `/requests.csv?${wrong}`]), 'day')
  }
  for (const absent of ['acc_zzz', 'nobody@example.com'])
    await refused(house, 404, ['GET', `/requests.csv?day=${day}&account=${absent}`])

  const sluice = commandsOf(house.relay)
  const words = ['requests', 'export', '--day', day]
  assert.deepEqual((await sluice.output(words)).split('\r\n').slice(1, -1), lines)
  const bobs = await sluice.output([...words, '--account', bob.id])
  assert.deepEqual(
    bobs.split('\r\n').slice(1, -1),
    lines.filter((line) => line.includes(bob.id)),
  )
  assert.match(await sluice.failure([...words, '--account', 'acc_zzz']), /no such account/)
  assert.match(await sluice.failure(['requests', 'export', '--day', 'today']), /a day such as/)
  assert.match(await sluice.output(['requests', 'export', '--help']), /\$ sluice requests export --day/)
  await house.nothingHeld()
  await house.stop()
  assert.deepEqual((await sluice.output(words)).split('\r\n').slice(1, -1), lines)
})
