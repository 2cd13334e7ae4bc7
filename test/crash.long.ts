/** Two hundred deaths among running calls, or as many as CRASH_TRIALS says, each compared with the upstream's own meter. */
import { test } from 'node:test'
import { crashEnv, crashHouse, crashTrial, type Death } from './crash-trials.ts'
import { openHouse } from './support/server/test-server.ts'

const trials = Number(process.env['CRASH_TRIALS'] ?? '200')

for (const death of ['the process', 'a worker'] satisfies Death[]) {
  test(`${trials} times ${death} dies with 64 streams open: nothing is lost, doubled or left held`, async (t) => {
    const house = await openHouse(t, { env: crashEnv })
    const meter = await crashHouse(house)
    let [completed, interrupted] = [0, 0]
    for (let trial = 0; trial < trials; trial += 1) {
      const outcome = await crashTrial(house, meter, death, 50 + Math.random() * 1500)
      completed += outcome.completed
      interrupted += outcome.interrupted
    }
    t.diagnostic(`${completed} completed, ${interrupted} interrupted`)
  })
}
