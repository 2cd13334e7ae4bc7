// @backend sqlite – what is tested does not depend on the database
// @suite all – every way to break a handshake is tried three times, many of them until a timeout
/** Proxies that break the handshake: no request passes, no secret shows, and the next proxy works. */
import { after, describe, test } from 'node:test'

import { ProxiedCalls, proxyKinds, type ProxyKind } from '../../support/client/proxied-calls.ts'
import { seedRange } from '../../support/runner/seeds.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'

const server = await sharedTestServer()

for (const kind of Object.keys(proxyKinds) as ProxyKind[]) {
  const calls = await ProxiedCalls.start(server, kind)
  after(() => calls.close())

  describe(`Hostile ${kind} proxies`, () => {
    for (const mode of proxyKinds[kind]) {
      test(`${mode.name} – no request passes, and an honest proxy works next`, async (t) => {
        await calls.run(t, mode)
      })
    }

    test('damaged handshakes – no request passes, and an honest proxy works next', async (t) => {
      await calls.runDamaged(t, seedRange(50))
    })

    test('secrets – appear neither in the admin API nor in the log', async () => {
      await calls.assertSecretsHidden()
    })
  })
}
