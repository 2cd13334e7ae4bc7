import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { checkBackup } from './backup-file.ts'
import type { Db } from '../db.ts'
import { openReadOnly } from './read-only.ts'
import { setSetting, getSetting } from '../settings.ts'
import { databaseFileName, openStore } from './store.ts'

async function openRunningStore(t: TestContext): Promise<{ db: Db; dataDir: string; path: string }> {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-read-only-'))
  const store = await openStore({ dataDir })
  t.after(async () => {
    await store.close()
    rmSync(dataDir, { recursive: true })
  })
  return { db: store.db, dataDir, path: join(dataDir, databaseFileName) }
}

describe('openReadOnly', () => {
  test('snapshot – later writes are visible neither in reads nor in the copy', async (t) => {
    const { db, dataDir, path } = await openRunningStore(t)
    await setSetting(db, 'before', '1')
    const snapshot = openReadOnly(path)
    t.after(() => snapshot.close())
    await setSetting(db, 'after', '1')
    assert.equal(await getSetting(snapshot.db, 'before'), '1')
    assert.equal(await getSetting(snapshot.db, 'after'), undefined)

    const copy = join(dataDir, 'copy.db')
    await snapshot.copyTo(copy)
    const copied = openReadOnly(copy)
    t.after(() => copied.close())
    assert.equal(await getSetting(copied.db, 'before'), '1')
    assert.equal(await getSetting(copied.db, 'after'), undefined)
  })

  test('copy – is a single file readable only by its owner, and reading it creates no other file', async (t) => {
    const { dataDir, path } = await openRunningStore(t)
    const snapshot = openReadOnly(path)
    const copy = join(dataDir, 'copy.db')
    await snapshot.copyTo(copy)
    snapshot.close()
    assert.equal(statSync(copy).mode & 0o777, 0o600)
    assert.equal(checkBackup(copy).accounts, 0)
    const copies = readdirSync(dataDir).filter((name) => name.startsWith('copy'))
    assert.deepEqual(copies, ['copy.db'])
  })

  test('write – is rejected', async (t) => {
    const { path } = await openRunningStore(t)
    const snapshot = openReadOnly(path)
    t.after(() => snapshot.close())
    await assert.rejects(setSetting(snapshot.db, 'name', 'value'), /read-only/)
    assert.deepEqual(snapshot.findDamage(), [])
  })

  test('open – rejects a missing file and a file that is not a database', (t) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'sluice-read-only-'))
    t.after(() => rmSync(dataDir, { recursive: true }))
    assert.throws(() => openReadOnly(join(dataDir, 'sluice.db')), /Database not found: /)
    assert.throws(() => openReadOnly(new URL(import.meta.url).pathname), /not a database/)
  })
})
