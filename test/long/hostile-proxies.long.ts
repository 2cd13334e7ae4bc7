/** Damaged handshakes of proxies: many more than in the other suites. */
import { describe, test } from 'node:test'

import { ProxiedCalls, proxyKinds, type ProxyKind } from '../support/client/proxied-calls.ts'
import { seedRange } from '../support/runner/seeds.ts'
import { startTestServer } from '../support/server/test-server.ts'

describe('Hostile proxies', () => {
  for (const kind of Object.keys(proxyKinds) as ProxyKind[]) {
    test(`2,000 damaged handshakes (${kind}) – no request passes, no secret shows`, async (t) => {
      const server = await startTestServer(t)
      const calls = await ProxiedCalls.start(server, kind)
      t.after(() => calls.close())
      await calls.runDamaged(t, seedRange(2000))
      await calls.assertSecretsHidden()
      await server.assertNoOpenHolds()
    })
  }
})
