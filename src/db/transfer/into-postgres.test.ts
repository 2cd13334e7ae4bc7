/** Who may still work on a PostgreSQL that everything is moved out of. */
import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { openPostgresDb, type PostgresDb } from '../postgres/postgres-db.ts'
import { joinCluster, leaveCluster, retireNode } from '../postgres/nodes.ts'
import { startPostgres, withoutPostgres, type PostgresServer } from '../postgres/postgres.fixture.ts'
import { PostgresSide, TargetError } from './to-postgres.ts'
import { MovedAway } from './move-marker.ts'

const skip = withoutPostgres
const moved = { id: 'move_1', to: 'sqlite', at: '2026-11-21T00:00:00Z', isWhole: true } as const

let server: PostgresServer
if (skip === false) {
  server = await startPostgres()
  after(() => server.remove())
}

interface Opened {
  readonly db: PostgresDb
  readonly side: PostgresSide
  readonly join: () => Promise<number>
}

async function openBoth(t: TestContext): Promise<Opened> {
  const url = await server.migratedDatabase()
  const db = openPostgresDb(url, 'test')
  const side = await PostgresSide.open(url)
  t.after(() => Promise.all([db.close(), side.close()]))
  return { db, side, join: () => joinCluster(db, { id: 'one', name: 'one', version: '0' }) }
}

test(
  'a database that everything was moved out of is joined by nobody, also not again',
  { skip },
  async (t) => {
    const { db, side, join } = await openBoth(t)
    await leaveCluster(db, 'one', await join())
    await side.checkStopped()
    await side.noteMoved(moved)
    await assert.rejects(
      join(),
      (error) => error instanceof MovedAway && /start without DATABASE_URL/.test(error.message),
    )
    const [node] = await db.all<{ state: string; epoch: number }>({
      sql: 'select state, epoch from nodes',
      parameters: [],
    })
    assert.deepEqual({ ...node }, { state: 'stopped', epoch: 1 })
  },
)

for (const [what, end] of [
  ['runs', () => Promise.resolve()],
  ['has ended again', (db: PostgresDb) => leaveCluster(db, 'one', 1)],
  ['was given up again', (db: PostgresDb) => retireNode(db, 'one')],
] as const) {
  test(
    `a node that has joined while everything was copied, and ${what}, keeps the move from its end`,
    { skip },
    async (t) => {
      const { db, side, join } = await openBoth(t)
      await side.checkStopped()
      await join()
      await end(db)
      await assert.rejects(side.noteMoved(moved), TargetError)
      await side.close()
      await join()
    },
  )
}

test(
  'a database that everything is about to be moved into is joined by nobody, also not by who had seen it empty',
  { skip },
  async (t) => {
    const { side, join } = await openBoth(t)
    await side.begin('move_1', [], () => undefined)
    assert.deepEqual(await side.origin(), { id: 'move_1', isWhole: false })
    await assert.rejects(join(), /A move into this database is not finished/)
  },
)

test(
  'a database that a node has just joined is not begun to be filled, and the source stays as it is',
  { skip },
  async (t) => {
    const { side, join } = await openBoth(t)
    await join()
    await assert.rejects(
      side.begin('move_1', [], () => assert.fail('the source was noted')),
      /not empty \(nodes\).* Node one runs on it/,
    )
    await join()
  },
)
