// @backend sqlite – what is tested does not depend on the database
// @suite all – hundreds of calls, with bombs of hundreds of megabytes and waits for timeouts
/** Upstreams that respond with hostile bytes: callers see an error in their format, and nobody else sees anything. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'

import { HostileCalls } from '../../support/client/hostile-calls.ts'
import { peakResidentMiB, procSkipReason, residentMiB } from '../../support/client/raw-http.ts'
import { seedRange } from '../../support/runner/seeds.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { hostileBodies } from '../../support/upstream/hostile-bodies.ts'
import { hostileFraming } from '../../support/upstream/hostile-framing.ts'

const server = await sharedTestServer()
const calls = await HostileCalls.start(server)
after(() => calls.close())
const residentAtStart = procSkipReason === false ? residentMiB(server) : 0
const maxGrowthMiB = 500

describe('Hostile upstreams', () => {
  for (const mode of [...hostileFraming, ...hostileBodies]) {
    test(`${mode.name} – ends in the caller’s format, and the next response is another’s own`, async () => {
      await calls.run(mode)
    })
  }

  test('damaged responses – the next response is another caller’s own', async () => {
    await calls.runDamaged(seedRange(150))
  })

  test('memory – stays bounded', { skip: procSkipReason }, async (t) => {
    const growth = peakResidentMiB(server) - residentAtStart
    t.diagnostic(`${Math.round(growth)} MiB at most`)
    assert.ok(growth < maxGrowthMiB, `${growth} MiB more than at the start`)
  })

  test('log – has no error of the relay itself', () => {
    const isError = (line: string): boolean => /"level":(?:50|60)/.test(line)
    assert.deepEqual(server.log.filter(isError), [])
  })
})
