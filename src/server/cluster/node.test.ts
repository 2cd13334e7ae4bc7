/** What nodes think of each other when the database was away: nobody could say that he is alive. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPostgresDb } from '../../db/postgres/postgres-db.ts'
import { joinCluster, listNodes, noteAlive } from '../../db/postgres/nodes.ts'
import { startPostgres, withoutPostgres } from '../../db/postgres/postgres.fixture.ts'
import { Node } from './node.ts'
import { SharedLedger } from './shared-ledger.ts'

const skip = withoutPostgres
const nobody = (): undefined => undefined
const minuteMs = 60_000

test(
  'after an absence of the database no node that lives is given up, and all of them share the limits from the first look on',
  { skip },
  async (t) => {
    const server = await startPostgres()
    t.after(() => server.remove())
    const url = await server.migratedDatabase()
    const db = openPostgresDb(url, 'test')
    const epochOf = (id: string): Promise<number> => joinCluster(db, { id, name: id, version: '0' })
    const [epoch] = [await epochOf('one'), await epochOf('two'), await epochOf('three')]
    let at = 0
    const now = (): number => at
    const listener = { admitting: nobody, fenced: nobody, broken: nobody }
    const keep = (): Promise<void> => Promise.resolve()
    const ledger = new SharedLedger({ url, node: 'one', epoch, now, keep, forget: nobody, listener })
    const node = new Node({ db, id: 'one', ledger, now, fenced: nobody, freed: nobody }, epoch)
    t.after(async () => {
      await node.leave()
      await ledger.close()
      await db.close()
    })
    await node.look()
    assert.equal(node.place.nodes, 3)

    // The database is away for so long.
    await db.write({
      sql: `update nodes set seen_at = seen_at - ${20 * minuteMs} where id <> 'one'`,
      parameters: [],
    })
    at += 20 * minuteMs
    await node.look()
    assert.equal(node.place.nodes, 3)
    assert.deepEqual(await node.retireSilent(), [])
    await noteAlive(db, 'two', epoch)
    at += 5000
    assert.deepEqual(await node.retireSilent(), [])
    at += 6000
    assert.deepEqual(await node.retireSilent(), ['three'])
    await node.look()
    assert.equal(node.place.nodes, 2)
    const states = (await listNodes(db)).map(({ id, state }) => [id, state])
    assert.deepEqual(Object.fromEntries(states), { one: 'running', two: 'running', three: 'retired' })
  },
)
