/** The long form of bounded memory: hundreds of callers who do not read. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { question, type Account } from './support/server/account.ts'
import { askWithoutReading, MiB, residentMiB, withoutProc } from './support/client/raw-http.ts'
import type { Received } from './support/upstream/exchange.ts'
import { openHouse, type House, type KnownUpstream } from './support/server/test-server.ts'
import { flood, saying } from './support/upstream/scripted-responses.ts'

interface Scene {
  house: House
  upstream: KnownUpstream
  account: Account
}

/** What may stay when streams are over: the database's cache of pages, and what the system's allocator holds together. */
const keptMiB = 200
const restsWithinMs = 60_000

/** 700 streams at once whose callers read nothing; 200 leave, the rest is cut off. The highest resident memory. */
async function flooded({ house, upstream, account }: Scene): Promise<number> {
  const stream = question('m', { stream: true })
  const sockets = Array.from({ length: 700 }, () => askWithoutReading(house, account, stream))
  const seen: Received[] = []
  for (const _ of sockets) seen.push(await upstream.sawRequest())
  for (const socket of sockets.splice(500)) socket.destroy()
  const taken = () => seen.reduce((sum, { bytesSent }) => sum + bytesSent, 0)
  let highest = 0
  for (let last = -1; last !== taken() || upstream.inFlight > 0; await delay(200)) {
    last = taken()
    highest = Math.max(highest, residentMiB(house))
  }
  assert.ok(taken() < 700 * 12 * MiB, `${taken()} bytes were taken from the upstream`)
  for (const socket of sockets) socket.destroy()
  await house.nothingHeld()
  return highest
}

/** The resident memory when it has come down to so much; if it does not, the least that it came down to. */
async function restedMiB(house: House, boundMiB: number): Promise<number> {
  let least = residentMiB(house)
  for (const start = performance.now(); performance.now() - start < restsWithinMs; await delay(500)) {
    least = Math.min(least, residentMiB(house))
    if (least < boundMiB) break
  }
  return least
}

test(
  '500 streams of 100 MB whose callers do not read, and 200 that are broken off, cost less than 300 MB, no more with each time, and give it back',
  { skip: withoutProc },
  async (t) => {
    const house = await openHouse(t, { env: { WORKERS: '2', SLOW_CLIENT_TIMEOUT: '20s' } })
    const upstream = await house.upstream(flood(100 * MiB))
    await house.model('m', { upstreams: [upstream] })
    const account = await house.account({ balance: '¥1000000' })
    // What a relay at work needs anyway is not counted.
    upstream.next(...Array.from({ length: 20 }, () => saying('Hello!')))
    for (let call = 0; call < 20; call++) {
      await (await account.post(question('m'))).text()
      await upstream.sawRequest()
    }
    const before = residentMiB(house)
    for (const time of ['first', 'second', 'third']) {
      const highest = await flooded({ house, upstream, account })
      const rested = await restedMiB(house, before + keptMiB)
      const [more, kept] = [highest - before, rested - before].map(Math.round)
      t.diagnostic(`${before.toFixed()} MiB resident, the ${time} time ${more} more, ${kept} of them kept`)
      assert.ok(highest - before < 300, `${more} MiB more the ${time} time`)
      assert.ok(rested - before < keptMiB, `${kept} MiB kept after the ${time} time`)
    }
  },
)
