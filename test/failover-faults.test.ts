/** One of two upstreams is down, in each of twelve ways: callers do not notice, and it costs few attempts. */

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { shareHouse } from './support/server/test-server.ts'
import { loadWithFault, twelveFaults } from './twelve-faults.ts'

const requests = 60
const house = await shareHouse()

for (const name of Object.keys(twelveFaults)) {
  for (const stream of [false, true]) {
    const manner = stream ? 'streamed' : 'whole'
    test(`${requests} ${manner} answers while one upstream ${name}: all come, in at most 1.2 attempts each`, async () => {
      const outcome = await loadWithFault(house, name, { requests, concurrency: 4, stream })
      assert.equal(outcome.begun, requests)
      assert.ok(outcome.attempts <= 1.2 * requests, `${outcome.attempts} attempts`)
      // What was cut off after its first words cannot be mended, and is never asked again; soon it is not asked at all.
      const broken = stream && name === 'cuts in the middle' ? 10 : 0
      assert.ok(outcome.complete >= requests - broken, `${outcome.complete} complete`)
      assert.equal(outcome.sentAgain, 0)
    })
  }
}
