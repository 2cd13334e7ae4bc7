/** Nodes after an outage of the database, during which none could send heartbeats. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openPostgresDb } from '../db/postgres/postgres-db.ts'
import { joinCluster, listNodes, recordHeartbeat } from '../db/postgres/nodes.ts'
import { startPostgres, postgresSkipReason } from '../db/postgres/postgres.fixture.ts'
import { NodeMembership } from './node-membership.ts'
import { SharedLedger } from '../engine/postgres/shared-ledger.ts'

const skip = postgresSkipReason
const ignore = (): undefined => undefined
const minuteMs = 60_000

describe('NodeMembership', () => {
  test(
    'database outage – retires no node that is alive, and keeps each node’s share of the limits',
    { skip },
    async (t) => {
      const server = await startPostgres()
      t.after(() => server.remove())
      const url = await server.createMigratedDatabase()
      const db = openPostgresDb(url, 'test')
      const epochOf = (id: string): Promise<number> => joinCluster(db, { id, name: id, version: '0' })
      const [epoch] = [await epochOf('one'), await epochOf('two'), await epochOf('three')]
      let at = 0
      const now = (): number => at
      const onReopeningFailed = ignore
      const listener = { onAdmissionChange: ignore, onFenced: ignore, onBroken: ignore, onReopeningFailed }
      const journal = { saveSettlement: ignore, remove: ignore }
      const ledger = new SharedLedger({ url, node: 'one', epoch, now, db, journal, listener })
      const coreListener = { onWarning: ignore, onFailure: ignore }
      const node = new NodeMembership(
        {
          db,
          id: 'one',
          ledger,
          now,
          monotonicNow: now,
          retireAfterMs: 30_000,
          join: () => epochOf('one'),
          listener: coreListener,
          onHoldEnded: ignore,
        },
        epoch,
      )
      t.after(async () => {
        await node.leave()
        await ledger.close()
        await db.close()
      })
      await node.refresh()
      assert.equal(node.position.nodes, 3)

      // The database is unavailable for this long.
      await db.write({
        sql: `update nodes set seen_at = seen_at - ${20 * minuteMs} where id <> 'one'`,
        parameters: [],
      })
      at += 20 * minuteMs
      await node.refresh()
      assert.equal(node.position.nodes, 3)
      const observe = async (aliveId: string, seconds: number): Promise<void> => {
        for (const end = at + seconds * 1000; at < end; at += 2000) {
          await recordHeartbeat(db, aliveId, epoch)
          await node.refresh()
        }
      }
      await observe('two', 24)
      assert.deepEqual(await node.retireSilent(), [])
      await observe('two', 8)
      assert.deepEqual(await node.retireSilent(), ['three'])
      assert.deepEqual(await node.retireSilent(), [])
      await node.refresh()
      assert.equal(node.position.nodes, 2)
      const states = (await listNodes(db)).map(({ id, state }) => [id, state])
      assert.deepEqual(Object.fromEntries(states), { one: 'running', two: 'running', three: 'retired' })
    },
  )
})
