import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { readConfig } from '../../config.ts'
import { migrations } from '../../db/migrations/0001-initial-schema.ts'
import { openPostgresDb } from '../../db/postgres/postgres-db.ts'
import { migratePostgres } from '../../db/postgres/migrate.ts'
import { joinCluster } from '../../db/postgres/nodes.ts'
import { startPostgres, withoutPostgres } from '../../db/postgres/postgres.fixture.ts'
import { noteMoved } from '../../db/transfer/move-marker.ts'
import { databaseFileName, openStore } from '../../db/store.ts'
import { temporaryDir } from '../../db/store.fixture.ts'
import { openHouse } from '../open-house.ts'
import { Progress, withBar } from './progress.ts'
import { giveUpMove, moveToPostgres } from './to-postgres.ts'

test('a directory whose move is not finished is not opened until that is given up, and one that was moved never', async (t) => {
  const dataDir = temporaryDir(t)
  await (await openStore({ dataDir })).close()
  const config = { ...readConfig(), dataDir, databaseUrl: null }
  const path = join(dataDir, databaseFileName)
  await assert.rejects(giveUpMove(dataDir), /Nothing in .* is being moved/)

  const moved = { id: 'move_1', to: 'postgres', at: '2026-11-21T00:00:00Z', isWhole: false } as const
  noteMoved(path, moved)
  await assert.rejects(openHouse(config), /begun at 2026-11-21T00:00:00Z, is not finished.* --give-up/)
  await giveUpMove(dataDir)
  await (await openHouse(config)).close()

  noteMoved(path, { ...moved, isWhole: true })
  await assert.rejects(openHouse(config), /was moved at 2026-11-21T00:00:00Z to PostgreSQL: set DATABASE_URL/)
  await assert.rejects(giveUpMove(dataDir), /is finished/)
  await assert.rejects(openHouse(config), /was moved/)
})

test(
  'a cluster of an older release that runs is found not to be empty, and neither its schema nor the source is changed',
  { skip: withoutPostgres },
  async (t) => {
    const server = await startPostgres()
    t.after(() => server.remove())
    const url = await server.database()
    const older = migrations.slice(0, -1)
    await migratePostgres(url, older)
    const db = openPostgresDb(url, 'test')
    t.after(() => db.close())
    await joinCluster(db, { id: 'one', name: 'one', version: '0' })
    const dataDir = temporaryDir(t)
    await (await openStore({ dataDir })).close()
    const config = { ...readConfig(), dataDir, databaseUrl: null }
    await assert.rejects(
      moveToPostgres(config, url, () => undefined),
      /not empty \(nodes\).* Node one runs on it/,
    )
    const version = { sql: 'select max(version) as version from schema_version', parameters: [] }
    assert.equal((await db.first<{ version: number }>(version))?.version, older.at(-1)?.version)
    await (await openHouse(config)).close()
  },
)

test('the bar fills as rows come, and is full when all have', () => {
  const lines: string[] = []
  const progress = new Progress(
    200,
    withBar((line) => lines.push(line)),
  )
  progress.step('moving accounts', 0)
  progress.step('moving requests', 100)
  progress.step('comparing requests', 100)
  assert.deepEqual(lines, [
    '[........................] 0 % moving accounts,',
    '[############............] 50 % moving requests,',
    '[########################] 100 % comparing requests,',
  ])
})
