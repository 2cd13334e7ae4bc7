// @backend both (cluster in long runs)
/** kill -9 and the loss of a worker during requests, compared with what the upstream sent. See test/long/crash.long.ts for more. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { crashEnv, prepareCrashServer, runCrashTrial } from '../../long/crash-trials.ts'
import { trials } from '../../support/runner/suite.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'

const server = await sharedTestServer({ env: crashEnv })
const meter = await prepareCrashServer(server)

const crashTimes = (timesMs: number[]): number[] => timesMs.slice(0, trials({ short: 2, all: 10 }))

describe('Crash recovery', () => {
  test('kill -9 with 64 open streams – loses and duplicates nothing, charges to 64 tokens', async (t) => {
    for (const afterMs of crashTimes([80, 450, 120, 160, 200, 270, 350, 600, 750, 900])) {
      const { completed, interrupted } = await runCrashTrial(server, meter, 'the process', afterMs)
      t.diagnostic(`after ${afterMs} ms: ${completed} completed, ${interrupted} interrupted`)
      assert.ok(interrupted > 0)
    }
  })

  test('Lost worker with 64 open streams – affects only its own, and is replaced', async (t) => {
    const totals = { completed: 0, interrupted: 0 }
    for (const afterMs of crashTimes([100, 550, 150, 200, 250, 300, 350, 400, 450, 500])) {
      const { completed, interrupted } = await runCrashTrial(server, meter, 'a worker', afterMs)
      t.diagnostic(`after ${afterMs} ms: ${completed} completed, ${interrupted} interrupted`)
      totals.completed += completed
      totals.interrupted += interrupted
    }
    assert.ok(totals.completed > 0 && totals.interrupted > 0)
  })
})
