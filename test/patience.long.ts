/** The long form of patience: seven minutes without a word, where many proxies and clients give up after five. */

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { question } from './support/server/account.ts'
import { sendByHand } from './support/client/raw-http.ts'
import { openHouse } from './support/server/test-server.ts'
import { waiting } from './support/upstream/fault-injection.ts'
import { saying } from './support/upstream/scripted-responses.ts'

test('a whole answer that takes 420 s arrives', async (t) => {
  const house = await openHouse(t)
  await house.model('m', { upstreams: [await house.upstream(waiting(420_000, saying('At last.')))] })
  const account = await house.account({ balance: '¥1' })
  // By hand, for fetch itself gives up after 300 s.
  const body = JSON.stringify(question('m'))
  const framing = `connection: close\r\ncontent-length: ${Buffer.byteLength(body)}`
  const { socket, answered } = sendByHand(house, account, framing)
  socket.write(body)
  const answer = await answered
  assert.match(answer, /^HTTP\/1\.1 200 /)
  assert.match(answer, /At last\./)
  await house.nothingHeld()
})
