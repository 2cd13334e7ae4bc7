import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { createTemporaryDir } from '../db/store.fixture.ts'
import { BackupFolderClient } from './backup-folder-client.ts'

const unlimitedMs = 60_000

describe('backup folder', () => {
  test('A file system that does not respond delays its own calls only, until it responds', async (t) => {
    const dir = createTemporaryDir(t)
    const path = join(dir, 'backup-1', 'manifest.json')
    mkdirSync(join(dir, 'backup-1'))
    // Opening it waits for a writer, as for a server that is gone.
    execFileSync('mkfifo', [path])
    const folder = new BackupFolderClient(undefined, 500)
    t.after(() => folder.close())
    await assert.rejects(
      folder.call((thread) => thread.list(dir)),
      /BACKUP_DIR does not respond/,
    )
    assert.equal(folder.isStuck, true)
    await assert.rejects(
      folder.call((thread) => thread.isLocked(dir)),
      /BACKUP_DIR does not respond/,
    )
    writeFileSync(path, '{}')
    while (folder.isStuck) await new Promise<void>((resolve) => setImmediate(resolve))
    assert.equal(await folder.call((thread) => thread.isLocked(dir)), false)
  })

  test('A folder that cannot be written has a reason', async (t) => {
    const folder = new BackupFolderClient(undefined, unlimitedMs)
    t.after(() => folder.close())
    await assert.rejects(
      folder.call((thread) => thread.tryWriting('/proc/nothing')),
      /ENOENT|No permission/,
    )
    await folder.call((thread) => thread.tryWriting(createTemporaryDir(t)))
    await assert.rejects(
      folder.call((thread) => thread.remove(createTemporaryDir(t), 'backup-1')),
      /not found/i,
    )
  })
})
