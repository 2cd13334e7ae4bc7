// @backend postgres – the file starts its own cluster
// @suite all – starts a cluster
/** The set-up links that several nodes of a cluster print. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openPostgresDb } from '../../../src/db/postgres/postgres-db.ts'
import { postgresSkipReason } from '../../../src/db/postgres/postgres.fixture.ts'
import { createOperatorLink } from '../../../src/users/access-links.ts'
import { readSetUpToken, redeemSetUpLink } from '../../support/console/console-session.ts'
import { startCluster } from '../../support/server/cluster.ts'

describe('Operator set-up links of a cluster', () => {
  test(
    'Links printed by several nodes – all work until one of them has created the operator',
    { skip: postgresSkipReason },
    async (t) => {
      const { nodes, url } = await startCluster(t, 2)
      const [one, other] = nodes
      assert.ok(one && other)
      const tokens = [readSetUpToken(one), readSetUpToken(other)] as const
      const [first, second] = tokens
      // Concurrently, through different nodes: only one becomes the first operator.
      const statuses = await Promise.all([
        redeemSetUpLink(one, first, 'a@example.com'),
        redeemSetUpLink(other, second, 'b@example.com'),
      ])
      assert.deepEqual(statuses.toSorted(), [200, 404])
      for (const token of tokens) assert.equal(await redeemSetUpLink(one, token, 'late@example.com'), 404)
      // A link of a start that checked for an operator just before one was created.
      const db = openPostgresDb(url, 'late start')
      t.after(() => db.close())
      const { token } = await createOperatorLink(db, null)
      assert.equal(await redeemSetUpLink(other, token, 'late@example.com'), 404)
    },
  )

  test(
    'Node that restarts – keeps the links of other nodes valid',
    { skip: postgresSkipReason },
    async (t) => {
      const cluster = await startCluster(t, 2)
      const [one] = cluster.nodes
      assert.ok(one)
      const printed = readSetUpToken(one)
      await cluster.nodes[1]?.stop()
      await cluster.restartNode(1)
      assert.equal(await redeemSetUpLink(one, printed, 'boss@example.com'), 200)
    },
  )
})
