// @backend sqlite – what is tested ends before the ledger
// @suite all – starts nginx, and hundreds of attacks wait for responses that never come
/** Malformed requests through nginx, with the configuration that we ship, beside requests of other callers. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { attackBesideVictims } from '../../support/client/smuggling-victims.ts'
import { nginxSkipReason, startNginx } from '../../support/deploy/nginx.ts'
import { seedRange } from '../../support/runner/seeds.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'

const server = await sharedTestServer()

describe('Request smuggling through nginx', () => {
  test(
    'Attacks on shared connections – every other caller receives its own response',
    { skip: nginxSkipReason },
    async (t) => {
      const { port } = await startNginx(t, 'compose', [server.url])
      const tally = await attackBesideVictims(server, port, seedRange(300))
      t.diagnostic(JSON.stringify(tally))
      assert.ok(tally.relayedAttacks >= Math.floor(tally.attacks / 10), 'too few attacks reached the relay')
    },
  )
})
