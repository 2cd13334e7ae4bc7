/** What an `Idempotency-Key` means after the relay was ended, gently or not. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { nanosOf } from '../src/lib/money.ts'
import { question, type Account } from './support/server/account.ts'
import { eventsOf, recordOf, refusalIn } from './support/client/responses.ts'
import { shareHouse } from './support/server/test-server.ts'
import { pausingAfter, waitingFor } from './support/upstream/fault-injection.ts'
import { saying, sayingMany } from './support/upstream/scripted-responses.ts'
import { bytesInDatabase } from './support/server/database-access.ts'

const house = await shareHouse({ env: { WORKERS: '2' } })
const usage = { input: 1000, output: 100 }
const upstream = await house.upstream(saying('Hello, world!', usage))
await house.model('m', { upstreams: [upstream], prices: ['0.002', '0.008'] })
const whole = question('m')
const streamed = question('m', { stream: true, stream_options: { include_usage: true } })

function repeat(account: Account, key: string, body: object = whole): Promise<Response> {
  return account.post(body, { headers: { 'idempotency-key': key } })
}

test('what was kept is kept through a restart and a kill, sealed on the disk', async () => {
  const account = await house.account({ balance: '¥1' })
  upstream.next(saying('A very particular answer.', usage))
  const first = await (await repeat(account, 'restarted')).text()
  const stored = await bytesInDatabase(house.relay)
  assert.ok(stored.includes(account.id) && !stored.includes('particular'))
  await house.kill()
  await house.restart()
  const again = await repeat(account, 'restarted')
  assert.equal(again.headers.get('idempotent-replayed'), 'true')
  assert.equal(await again.text(), first)
  assert.equal(await account.balance(), '0.9972')
})

test('kill -9: what was cut off and charged keeps its key, what had cost nothing is free', async () => {
  const account = await house.account({ balance: '¥1' })
  const never = Promise.withResolvers<void>()
  upstream.next(pausingAfter(200, never.promise, sayingMany(300, usage)))
  const charged = await repeat(account, 'charged', streamed)
  let deltas = 0
  const reading = (async () => {
    for await (const event of eventsOf(charged)) if (event.includes('" w') && ++deltas === 150) break
  })()
  await reading
  upstream.next(waitingFor(never.promise, saying('')))
  const before = upstream.requests.length
  const unanswered = repeat(account, 'unanswered').catch(() => null)
  while (upstream.requests.length === before) await upstream.sawRequest()
  await house.kill()
  await unanswered
  never.resolve()
  await house.restart()

  const cut = await repeat(account, 'charged', streamed)
  assert.equal(cut.status, 409)
  assert.equal(cut.headers.get('x-should-retry'), 'false')
  assert.ok((await refusalIn(cut)).message.includes(charged.headers.get('x-request-id') ?? '?'))
  assert.ok(nanosOf((await recordOf(account, charged)).cost) > 0n)
  assert.equal((await repeat(account, 'charged', whole)).status, 422)
  const free = await repeat(account, 'unanswered')
  assert.equal(free.status, 200)
  assert.equal(free.headers.get('idempotent-replayed'), null)
})
