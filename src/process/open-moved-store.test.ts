import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { readConfig } from '../config.ts'
import { moveMarkerStatement, writeMoveMarker } from '../db/transfer/move-marker.ts'
import { databaseFileName, openStore } from '../db/sqlite/store.ts'
import { createTemporaryDir } from '../db/store.fixture.ts'
import { openLocalAdmin } from './local-admin.ts'
import { Progress, progressBar } from '../migrate-store/progress.ts'
import { abandonMigration } from '../migrate-store/to-postgres.ts'

describe('migrateToPostgres', () => {
  test('data directory – is not opened during an unfinished move, or after a finished one', async (t) => {
    const dataDir = createTemporaryDir(t)
    await (await openStore({ dataDir })).close()
    const config = { ...readConfig(), dataDir, databaseUrl: null }
    const path = join(dataDir, databaseFileName)
    await assert.rejects(abandonMigration(dataDir), /No move of .* is in progress/)

    const moved = { id: 'move_1', to: 'postgres', at: '2026-11-21T00:00:00Z', isWhole: false } as const
    writeMoveMarker(path, moved)
    await assert.rejects(openLocalAdmin(config), /begun at 2026-11-21T00:00:00Z, is not finished.* --give-up/)
    await abandonMigration(dataDir)
    await (await openLocalAdmin(config)).close()

    writeMoveMarker(path, { ...moved, isWhole: true })
    const fingerprint = (): string => createHash('sha256').update(readFileSync(path)).digest('hex')
    const unchanged = fingerprint()
    await assert.rejects(
      openLocalAdmin(config),
      /was moved at 2026-11-21T00:00:00Z to PostgreSQL: set DATABASE_URL/,
    )
    await assert.rejects(abandonMigration(dataDir), /is finished/)
    await assert.rejects(openLocalAdmin(config), /was moved/)
    assert.equal(fingerprint(), unchanged)
  })

  test('data directory of an earlier release – is not migrated before an unfinished move resumes', async (t) => {
    const dataDir = createTemporaryDir(t)
    const database = new DatabaseSync(join(dataDir, databaseFileName))
    database.exec('create table settings (name text primary key, value text not null) strict')
    const moved = { id: 'move_1', to: 'postgres', at: '2026-11-21T00:00:00Z', isWhole: false } as const
    const { sql, parameters } = moveMarkerStatement(moved)
    database.prepare(sql).run(...parameters)
    const config = { ...readConfig(), dataDir, databaseUrl: null }
    await assert.rejects(openLocalAdmin(config), /is not finished/)
    const tables = database.prepare(`select name from sqlite_schema where type = 'table'`).all()
    assert.deepEqual(
      tables.map(({ name }) => name),
      ['settings'],
    )
    database.close()
  })

  test('progress bar – fills with the rows', () => {
    const lines: string[] = []
    const progress = new Progress(
      200,
      progressBar((line) => lines.push(line)),
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
})
