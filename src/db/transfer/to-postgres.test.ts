// @suite all – a PostgreSQL database per test
/** Which nodes may use a PostgreSQL database during and after a move. */
import assert from 'node:assert/strict'
import { after, describe, test, type TestContext } from 'node:test'
import { openPostgresDb, type PostgresDb } from '../postgres/postgres-db.ts'
import { joinCluster, leaveCluster, retireNode } from '../postgres/nodes.ts'
import { startPostgres, postgresSkipReason, type PostgresServer } from '../postgres/postgres.fixture.ts'
import { PostgresTransfer, TransferTargetError } from './to-postgres.ts'
import { DatabaseMovedError } from './move-marker.ts'

const skip = postgresSkipReason
const marker = { id: 'move_1', to: 'sqlite', at: '2026-11-21T00:00:00Z', isWhole: true } as const

let server: PostgresServer
if (skip === false) {
  server = await startPostgres()
  after(() => server.remove())
}

interface Opened {
  readonly db: PostgresDb
  readonly transfer: PostgresTransfer
  readonly join: () => Promise<number>
}

async function openTransfer(t: TestContext): Promise<Opened> {
  const url = await server.createMigratedDatabase()
  const db = openPostgresDb(url, 'test')
  const transfer = await PostgresTransfer.open(url)
  t.after(() => Promise.all([db.close(), transfer.close()]))
  return { db, transfer, join: () => joinCluster(db, { id: 'one', name: 'one', version: '0' }) }
}

describe('PostgresTransfer', () => {
  test('moved database – no node can join it again', { skip }, async (t) => {
    const { db, transfer, join } = await openTransfer(t)
    await leaveCluster(db, 'one', await join())
    await transfer.checkStopped()
    await transfer.writeMoveMarker(marker)
    await assert.rejects(
      join(),
      (error) => error instanceof DatabaseMovedError && /start without DATABASE_URL/.test(error.message),
    )
    const [node] = await db.all<{ state: string; epoch: number }>({
      sql: 'select state, epoch from nodes',
      parameters: [],
    })
    assert.deepEqual({ ...node }, { state: 'stopped', epoch: 1 })
  })

  for (const [what, end] of [
    ['runs', () => Promise.resolve()],
    ['has ended again', (db: PostgresDb) => leaveCluster(db, 'one', 1)],
    ['was given up again', (db: PostgresDb) => retireNode(db, 'one')],
  ] as const) {
    test(`move – fails if a node that ${what} joined during the copy`, { skip }, async (t) => {
      const { db, transfer, join } = await openTransfer(t)
      await transfer.checkStopped()
      await join()
      await end(db)
      await assert.rejects(transfer.writeMoveMarker(marker), TransferTargetError)
      await transfer.close()
      await join()
    })
  }

  test('move target – no node can join it, even one that saw it empty before', { skip }, async (t) => {
    const { transfer, join } = await openTransfer(t)
    await transfer.begin('move_1', [], () => undefined)
    assert.deepEqual(await transfer.readOrigin(), { id: 'move_1', isWhole: false })
    await assert.rejects(join(), /A move into this database is not finished/)
  })

  test('target with a node – is rejected, and the source stays unchanged', { skip }, async (t) => {
    const { transfer, join } = await openTransfer(t)
    await join()
    await assert.rejects(
      transfer.begin('move_1', [], () => assert.fail('the source was marked')),
      /not empty \(nodes\).* Node one runs on it/,
    )
    await join()
  })
})
