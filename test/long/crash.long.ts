/** Two hundred kills, or CRASH_TRIALS, among running requests, each compared with what the upstream sent. */
import { describe, test } from 'node:test'
import { crashEnv, prepareCrashServer, runCrashTrial, type CrashTarget } from './crash-trials.ts'
import { startTestServer } from '../support/server/test-server.ts'

const trials = Number(process.env['CRASH_TRIALS'] ?? '200')

describe('Crash recovery', () => {
  for (const target of ['the process', 'a worker'] satisfies CrashTarget[]) {
    test(`Killing ${target} with 64 open streams – loses and duplicates nothing, ${trials} times`, async (t) => {
      const server = await startTestServer(t, { env: crashEnv })
      const meter = await prepareCrashServer(server)
      let [completed, interrupted] = [0, 0]
      for (let trial = 0; trial < trials; trial += 1) {
        const outcome = await runCrashTrial(server, meter, target, 50 + Math.random() * 1500)
        completed += outcome.completed
        interrupted += outcome.interrupted
      }
      t.diagnostic(`${completed} completed, ${interrupted} interrupted`)
    })
  }
})
