/** Stories of an upstream that is down, for as many of the twelve ways and requests as a file has time for. */

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { shareHouse } from './house.ts'
import { loadWithFault } from './twelve-faults.ts'

export async function tellOfFaults(names: readonly string[], requests: number): Promise<void> {
  const house = await shareHouse()
  for (const name of names) {
    for (const stream of [false, true]) {
      const manner = stream ? 'streamed' : 'whole'
      void test(`${requests} ${manner} answers while one upstream ${name}: all come, in at most 1.2 attempts each`, async () => {
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
}
