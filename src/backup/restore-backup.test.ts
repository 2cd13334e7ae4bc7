import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test, type TestContext } from 'node:test'
import { readConfig } from '../config.ts'
import { createTemporaryDir, openTemporaryStore } from '../db/store.fixture.ts'
import { openReadOnly } from '../db/sqlite/read-only.ts'
import { insertAccounts } from '../ledger/credits/accounts.fixture.ts'
import { databaseFile, type BackupManifest } from './backup-manifest.ts'
import { restoreToDataDir, restoreToPostgres } from './restore-backup.ts'

const backup: BackupManifest = {
  format: 1,
  made_at: '2026-11-28T00:00:00Z',
  version: '0.9.0',
  schema_version: 1,
  last_commit: 0,
  accounts: 1,
  entries: 0,
  sealed_by: 'ENCRYPTION_KEY',
  files: [{ name: databaseFile, bytes: 0, sha256: 'a'.repeat(64) }],
}

/** A backup with an automatic recharge that is on. `interrupt`: every change of it fails, as if the restore ended there. */
async function createBackup(t: TestContext, interrupt: boolean): Promise<string> {
  const store = await openTemporaryStore(t)
  await insertAccounts(store.db, 'acc_one')
  const folder = createTemporaryDir(t)
  const snapshot = openReadOnly(join(store.dataDir, databaseFile))
  await snapshot.copyTo(join(folder, databaseFile))
  snapshot.close()
  using database = new DatabaseSync(join(folder, databaseFile))
  database.exec(`insert into automatic_recharges (account_id, state, method, currency, consented_at, card_id, failures,
    created_at, updated_at) values ('acc_one', 'on', 'stripe', 'CNY', 1, 'pm_1', 0, 1, 1)`)
  if (interrupt)
    database.exec(`create trigger interruption before update on automatic_recharges
      begin select raise(abort, 'interrupted'); end`)
  return folder
}

/** Every database in the folder, or in one inside it, under its final name. */
function databasesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith(databaseFile),
  )
}

describe('Restore of automatic recharges', () => {
  test('interruption before they are paused – leaves no database that could charge cards', async (t) => {
    const folder = await createBackup(t, true)
    const dataDir = createTemporaryDir(t)
    assert.throws(() => restoreToDataDir(folder, dataDir, backup, false), /interrupted/)
    assert.deepEqual(databasesIn(dataDir), [])

    const target = { config: readConfig({ DATA_DIR: dataDir }), url: 'postgres://127.0.0.1:1/unused' }
    const restored = restoreToPostgres(folder, target, backup, () => undefined)
    await assert.rejects(restored, /interrupted/)
    assert.deepEqual(databasesIn(dataDir), [])
  })

  test('restore after an interruption – pauses them, in the file itself', async (t) => {
    const dataDir = createTemporaryDir(t)
    const interrupted = await createBackup(t, true)
    assert.throws(() => restoreToDataDir(interrupted, dataDir, backup, false), /interrupted/)
    restoreToDataDir(await createBackup(t, false), dataDir, backup, true)
    assert.equal(existsSync(join(dataDir, `${databaseFile}-wal`)), false)
    using database = new DatabaseSync(join(dataDir, databaseFile), { readOnly: true })
    const row = database.prepare('select state, problem from automatic_recharges').get()
    assert.deepEqual({ ...row }, { state: 'paused', problem: 'restored' })
  })
})
