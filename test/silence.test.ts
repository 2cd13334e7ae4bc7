/** Upstreams that take their time: what callers hear meanwhile, and when the relay gives up. */

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { payloadsOf, question } from './support/server/account.ts'
import { eventsOf, lastError, recordOf, refusalIn, wordsOf } from './support/client/responses.ts'
import { blackhole } from './support/upstream/unreachable-addresses.ts'
import type { Script } from './support/upstream/exchange.ts'
import { shareHouse } from './support/server/test-server.ts'
import {
  mute,
  muteAfterHeaders,
  pausingAfter,
  slow,
  truncating,
  waiting,
  waitingFor,
  writtenAs,
} from './support/upstream/fault-injection.ts'
import { saying, sayingMany } from './support/upstream/scripted-responses.ts'

const house = await shareHouse({ env: { STREAM_KEEP_ALIVE: '100ms' } })
/** Sends the head of a whole answer at once and its body later. */
const slowBody: Script = async (exchange) => {
  exchange.head(200, { 'content-type': 'application/json' })
  if (!(await exchange.pause(700))) return
  await saying('At last.')({ ...exchange, head: () => undefined })
}
const usage = { input: 10, output: 4 }
const upstream = await house.upstream(saying('Hello!', usage))
await house.model('m', { upstreams: [upstream] })

test('while an upstream is silent, before the first token and between two, comments keep the stream open', async () => {
  const account = await house.account({ balance: '¥1' })
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const script = waitingFor(
    first.promise,
    pausingAfter(3, second.promise, saying('one two three four', usage)),
  )
  upstream.next(writtenAs({ before: [': upstream comment'], inside: ['id: 7', 'retry: 10'] }, script))
  const reply = await account.post(question('m', { stream: true }))
  assert.equal(reply.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  let silences = 0
  const events: string[] = []
  for await (const event of eventsOf(reply)) {
    events.push(event)
    silences = event.startsWith(':') ? silences + 1 : 0
    if (silences === 3) (events.length === 3 ? first : second).resolve()
  }
  assert.equal(
    wordsOf(events.filter((event) => event.startsWith('data: {')).map((event) => event.slice(6))),
    'one two three four',
  )
  assert.equal(events.at(-1), 'data: [DONE]')
  for (const event of events) assert.match(event, /^(?::[^\n]*|data: [^\n]*)$/)
  assert.ok(!events.some((event) => event.includes('upstream comment')))
})

const hasty = await house.upstream(saying('Hello!', usage), {
  timeouts: { connect_ms: 300, first_token_ms: 300, idle_ms: 300, answer_ms: 300 },
})
const other = await house.upstream(saying('Hello from the other!', usage))
await house.model('hasty', { upstreams: [hasty] })
await house.model('hasty-then-other', { upstreams: [hasty, other] })

for (const [name, script] of Object.entries({ 'nothing at all': mute, 'only headers': muteAfterHeaders })) {
  test(`an upstream that says ${name} until its time is over is replaced unseen, or else 503 or an error event`, async () => {
    const account = await house.account({ balance: '¥1' })
    for (const stream of [true, false]) {
      hasty.next(script, script)
      const replaced = await account.post(question('hasty-then-other', { stream }))
      assert.match(await replaced.text(), /Hello/)
      const reply = await account.post(question('hasty', { stream }))
      // A stream has begun with its comments; then the error comes inside.
      if (stream) assert.equal(lastError(await payloadsOf(reply)).code, 'upstream_unavailable')
      else assert.deepEqual([reply.status, (await refusalIn(reply)).code], [503, 'upstream_unavailable'])
      const record = await recordOf(account, reply)
      assert.deepEqual([record.outcome, record.http_status, Number(record.cost)], ['failed', 503, 0])
    }
  })
}

test('a stream that falls silent after its first words ends with an error, and is told as truncated', async () => {
  const account = await house.account({ balance: '¥1' })
  hasty.next(truncating(3, 'hang', sayingMany(9, usage)))
  const reply = await account.post(question('hasty-then-other', { stream: true }))
  const payloads = await payloadsOf(reply)
  assert.equal(wordsOf(payloads), ' w1 w2')
  assert.equal(lastError(payloads).code, 'upstream_unavailable')
  assert.equal((await recordOf(account, reply)).outcome, 'truncated')
  await hasty.sawClose()
})

test('time-outs measure silence: a stream that always says something may take longer than each of them', async () => {
  const account = await house.account({ balance: '¥1' })
  hasty.next(slow(sayingMany(12, usage), 60))
  const payloads = await payloadsOf(await account.post(question('hasty', { stream: true })))
  assert.equal(payloads.at(-1), '[DONE]')
})

test('a whole answer may take as long as its upstream is given', async () => {
  const patient = await house.upstream(saying('At last.', usage), {
    timeouts: { first_token_ms: 100, idle_ms: 100, answer_ms: 5_000 },
  })
  await house.model('patient', { upstreams: [patient] })
  const account = await house.account({ balance: '¥1' })
  patient.next(waiting(700, saying('At last.', usage)), slowBody)
  for (let call = 0; call < 2; call++) {
    const reply = await account.post(question('patient'))
    assert.equal(reply.status, 200)
    assert.match(await reply.text(), /At last\./)
  }
})

test('an address that takes no connection is given up after its time, and another is asked', async (t) => {
  const hole = await blackhole()
  t.after(() => hole.close())
  const nowhere = await house.upstreamAt(hole.url, { timeouts: { connect_ms: 300 } })
  await house.model('hole', { upstreams: [nowhere, other] })
  const account = await house.account({ balance: '¥1' })
  const reply = await account.post(question('hole'))
  assert.match(await reply.text(), /Hello from the other!/)
  assert.equal((await recordOf(account, reply)).attempts.length, 2)
})
