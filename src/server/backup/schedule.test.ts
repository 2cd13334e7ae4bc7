import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import pino from 'pino'
import { readConfig } from '../../config.ts'
import { openStore } from '../../db/store.ts'
import { temporaryDir } from '../../db/store.fixture.ts'
import type { Log } from '../../lib/log.ts'
import { BackupWork } from './backup-runner.ts'
import { BackupSchedule } from './schedule.ts'

/** A log, and what resolves when it has said so. */
function logHeard(words: string): { readonly log: Log; readonly heard: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const write = (line: string): void => {
    if (line.includes(words)) resolve()
  }
  return { log: Object.assign(pino({}, { write }), { line: () => undefined }), heard: promise }
}

test('a backup that fails while nobody can be told of it is logged, and no more', async (t) => {
  const dataDir = temporaryDir(t)
  const store = await openStore({ dataDir })
  await store.close()
  const backupDir = join(dataDir, 'a file')
  writeFileSync(backupDir, '')
  const config = { ...readConfig(), dataDir, databaseUrl: null, backupDir, backupEveryMs: 1 }
  const { log, heard } = logHeard('operators could not be told')
  const schedule = new BackupSchedule({ work: new BackupWork(config), config, db: store.db, log })
  await heard
  await assert.doesNotReject(schedule.close())
})
