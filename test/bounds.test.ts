/** What callers and upstreams cannot make the relay do: read without end, and remember without end. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { question } from './support/server/account.ts'
import {
  askWithoutReading,
  bytesRead,
  MiB,
  residentMiB,
  sendByHand,
  withoutProc,
} from './support/client/raw-http.ts'
import { shareHouse } from './support/server/test-server.ts'
import { flood, saying } from './support/upstream/scripted-responses.ts'

const house = await shareHouse({ env: { BODY_LIMIT: '1MiB', SLOW_CLIENT_TIMEOUT: '1s' } })
const upstream = await house.upstream(saying('Hello!'))
await house.model('m', { upstreams: [upstream] })
const account = await house.account({ balance: '¥1000' })

test('a body that is announced as too large is a 413 before a byte of it is sent', async () => {
  const { answered } = sendByHand(house, account, `content-length: ${100 * MiB}`)
  const answer = await answered
  assert.match(answer, /^HTTP\/1\.1 413 /)
  assert.match(answer, /"code":"request_too_large"/)
  assert.match(answer, /x-request-id: req_/)
})

for (const framing of ['transfer-encoding: chunked', `content-length: ${100 * MiB}`]) {
  const name = `a body without end (${framing}) is a 413 at once, of which no more than 1 MiB and 1 s is read on`
  test(name, { skip: withoutProc }, async () => {
    const before = bytesRead(house)
    const startedMs = performance.now()
    const { socket, answered } = sendByHand(house, account, framing)
    const data = 'x'.repeat(65_536)
    const chunk = framing.startsWith('transfer') ? `10000\r\n${data}\r\n` : data
    let sent = 0
    for (; !socket.destroyed && sent < 100 * MiB; sent += chunk.length) {
      if (socket.write(chunk)) continue
      await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), answered])
    }
    const answer = await answered
    // What still travelled when the relay cut us off may have pushed its answer out of our system.
    if (answer !== '') assert.match(answer, /^HTTP\/1\.1 413 /)
    assert.ok(sent < 100 * MiB, 'everything was taken')
    assert.ok(performance.now() - startedMs < 10_000)
    assert.ok(bytesRead(house) - before < 2.5 * MiB, `${bytesRead(house) - before} bytes were read`)
  })
}

test('who sends a little too much, and then listens, gets the 413', async () => {
  const reply = await account.post({ ...question('m'), filler: 'x'.repeat(1.5 * MiB) })
  assert.equal(reply.status, 413)
  assert.match(await reply.text(), /request_too_large/)
  assert.equal((await account.post(question('m'))).status, 200)
})

test(
  'callers who do not read make the upstream wait, and are cut off and settled',
  { skip: withoutProc },
  async () => {
    const streams = 50
    upstream.always(flood(100 * MiB))
    const before = residentMiB(house)
    const sockets = Array.from({ length: streams }, () =>
      askWithoutReading(house, account, question('m', { stream: true })),
    )
    const seen = await Promise.all(sockets.map(() => upstream.sawRequest()))
    const taken = () => seen.reduce((sum, { bytesSent }) => sum + bytesSent, 0) / MiB
    // Until nothing moves any more.
    for (let last = -1; last !== taken(); await delay(150)) last = taken()
    assert.ok(taken() < streams * 12, `${taken()} MiB were taken from the upstream`)
    const risen = residentMiB(house) - before
    assert.ok(risen < 150, `${risen} MiB for ${streams} callers`)

    await Promise.all(sockets.map(() => upstream.sawClose()))
    await house.nothingHeld()
    const outcomes = (await account.requests({ limit: String(streams) })).map(({ outcome }) => outcome)
    assert.deepEqual(
      outcomes,
      Array.from({ length: streams }, () => 'aborted'),
    )
    for (const socket of sockets) socket.destroy()
  },
)
