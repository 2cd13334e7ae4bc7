import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { checkBackup } from './sqlite/backup-file.ts'
import type { Db } from './db.ts'
import { openReadOnly } from './sqlite/read-only.ts'
import { putSetting, setting } from './settings.ts'
import { databaseFileName, openStore } from './store.ts'

async function runningStore(t: TestContext): Promise<{ db: Db; dataDir: string; path: string }> {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-read-only-'))
  const store = await openStore({ dataDir })
  t.after(async () => {
    await store.close()
    rmSync(dataDir, { recursive: true })
  })
  return { db: store.db, dataDir, path: join(dataDir, databaseFileName) }
}

test('what is written after the opening is not seen, neither in reads nor in the copy', async (t) => {
  const { db, dataDir, path } = await runningStore(t)
  await putSetting(db, 'before', '1')
  const still = openReadOnly(path)
  t.after(() => still.close())
  await putSetting(db, 'after', '1')
  assert.equal(await setting(still.db, 'before'), '1')
  assert.equal(await setting(still.db, 'after'), undefined)

  const copy = join(dataDir, 'copy.db')
  await still.copyTo(copy)
  const copied = openReadOnly(copy)
  t.after(() => copied.close())
  assert.equal(await setting(copied.db, 'before'), '1')
  assert.equal(await setting(copied.db, 'after'), undefined)
})

test('a copy is one whole file for its owner only, and reading it leaves nothing beside it', async (t) => {
  const { dataDir, path } = await runningStore(t)
  const still = openReadOnly(path)
  const copy = join(dataDir, 'copy.db')
  await still.copyTo(copy)
  still.close()
  assert.equal(statSync(copy).mode & 0o777, 0o600)
  assert.equal(checkBackup(copy).accounts, 0)
  const beside = readdirSync(dataDir).filter((name) => name.startsWith('copy'))
  assert.deepEqual(beside, ['copy.db'])
})

test('it cannot write', async (t) => {
  const { path } = await runningStore(t)
  const still = openReadOnly(path)
  t.after(() => still.close())
  await assert.rejects(putSetting(still.db, 'name', 'value'), /reading only/)
  assert.deepEqual(still.damages(), [])
})

test('what is no database, or not there, is refused', (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-read-only-'))
  t.after(() => rmSync(dataDir, { recursive: true }))
  assert.throws(() => openReadOnly(join(dataDir, 'sluice.db')), /There is no database at/)
  assert.throws(() => openReadOnly(new URL(import.meta.url).pathname), /not a database/)
})
