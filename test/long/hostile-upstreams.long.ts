/** Damaged responses of upstreams: many more than in the other suites. */
import { describe, test } from 'node:test'

import { HostileCalls } from '../support/client/hostile-calls.ts'
import { seedRange } from '../support/runner/seeds.ts'
import { startTestServer } from '../support/server/test-server.ts'

describe('Hostile upstreams', () => {
  test('20,000 damaged responses – the next response is another caller’s own', async (t) => {
    const server = await startTestServer(t)
    const calls = await HostileCalls.start(server)
    t.after(() => calls.close())
    await calls.runDamaged(seedRange(20_000))
    await server.assertNoOpenHolds()
  })
})
