// @suite all – a PostgreSQL database that is migrated twice
/** A move into a database of an older release. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readConfig } from '../config.ts'
import { migrations } from '../db/migrations/migrations.ts'
import { openPostgresDb } from '../db/postgres/postgres-db.ts'
import { migratePostgres } from '../db/postgres/migrate.ts'
import { joinCluster } from '../db/postgres/nodes.ts'
import { startPostgres, postgresSkipReason } from '../db/postgres/postgres.fixture.ts'
import { openStore } from '../db/sqlite/store.ts'
import { createTemporaryDir } from '../db/store.fixture.ts'
import { openLocalAdmin } from './local-admin.ts'
import { migrateToPostgres } from '../migrate-store/to-postgres.ts'

describe('migrateToPostgres', () => {
  test(
    'target with a running cluster of an older release – is rejected, and nothing is changed',
    { skip: postgresSkipReason },
    async (t) => {
      const server = await startPostgres()
      t.after(() => server.remove())
      const url = await server.createDatabase()
      const older = migrations.slice(0, -1)
      await migratePostgres(url, older)
      const db = openPostgresDb(url, 'test')
      t.after(() => db.close())
      await joinCluster(db, { id: 'one', name: 'one', version: '0' })
      const dataDir = createTemporaryDir(t)
      await (await openStore({ dataDir })).close()
      const config = { ...readConfig(), dataDir, databaseUrl: null }
      await assert.rejects(
        migrateToPostgres(config, url, () => undefined),
        /not empty \(nodes\).* Node one runs on it/,
      )
      const version = { sql: 'select max(version) as version from schema_version', parameters: [] }
      assert.equal((await db.first<{ version: number }>(version))?.version, older.at(-1)?.version)
      await (await openLocalAdmin(config)).close()
    },
  )
})
