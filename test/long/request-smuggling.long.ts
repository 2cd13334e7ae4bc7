/** Request smuggling: many more connections than in the other suites, to the fast path alone and through nginx. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { assertVariety, compareWithNode } from '../../src/http/server/smuggling.fixture.ts'
import { attackBesideVictims } from '../support/client/smuggling-victims.ts'
import { nginxSkipReason, startNginx } from '../support/deploy/nginx.ts'
import { seedRange } from '../support/runner/seeds.ts'
import { startTestServer } from '../support/server/test-server.ts'

describe('Request smuggling', () => {
  test('200,000 connections – the fast path sees the same requests as node:http', async (t) => {
    assertVariety(await compareWithNode(t, seedRange(200_000)), t)
  })

  test(
    '8,000 attacks through nginx – every other caller receives its own response',
    { skip: nginxSkipReason },
    async (t) => {
      const server = await startTestServer(t)
      const { port } = await startNginx(t, 'compose', [server.url])
      const tally = await attackBesideVictims(server, port, seedRange(8000))
      t.diagnostic(JSON.stringify(tally))
      assert.ok(tally.relayedAttacks >= Math.floor(tally.attacks / 10), 'too few attacks reached the relay')
      await server.assertNoOpenHolds()
    },
  )
})
