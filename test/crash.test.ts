/** kill -9 and the loss of a worker among running calls, compared with the upstream's own meter. See crash.long.ts for more. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crashEnv, crashHouse, crashTrial } from './crash-trials.ts'
import { openHouse } from './support/server/test-server.ts'

test('kill -9 with 64 streams open, ten times: nothing completed is lost or doubled, the rest is charged to 64 tokens', async (t) => {
  const house = await openHouse(t, { env: crashEnv })
  const meter = await crashHouse(house)
  for (const afterMs of [80, 120, 160, 200, 270, 350, 450, 600, 750, 900]) {
    const { completed, interrupted } = await crashTrial(house, meter, 'the process', afterMs)
    t.diagnostic(`after ${afterMs} ms: ${completed} completed, ${interrupted} interrupted`)
    assert.ok(interrupted > 0)
  }
})

test('ten times, a worker that ends with 64 streams open takes only its own; they are charged at once, and another takes its place', async (t) => {
  const house = await openHouse(t, { env: crashEnv })
  const meter = await crashHouse(house)
  const all = { completed: 0, interrupted: 0 }
  for (const afterMs of [100, 150, 200, 250, 300, 350, 400, 450, 500, 550]) {
    const { completed, interrupted } = await crashTrial(house, meter, 'a worker', afterMs)
    t.diagnostic(`after ${afterMs} ms: ${completed} completed, ${interrupted} interrupted`)
    all.completed += completed
    all.interrupted += interrupted
  }
  assert.ok(all.completed > 0 && all.interrupted > 0)
})
