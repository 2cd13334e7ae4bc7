/** Abort races with many seeds. */
import { describe, test } from 'node:test'
import { seedRange } from '../support/runner/seeds.ts'
import { startTestServer } from '../support/server/test-server.ts'
import { runAbortRaces } from './abort-races.ts'

const { from, count } = seedRange(10)

describe('Abort races', () => {
  for (let seed = from; seed < from + count; seed += 1) {
    test(`2,000 calls aborted in every phase, seed ${seed} – lose no slot and hold nothing`, async (t) => {
      const server = await startTestServer(t, { env: { WORKERS: '2' } })
      const { callsByPhase } = await runAbortRaces(server, { seed, calls: 2000 })
      t.diagnostic(JSON.stringify(callsByPhase))
    })
  }
})
