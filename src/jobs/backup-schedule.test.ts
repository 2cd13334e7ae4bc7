import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import pino from 'pino'
import { readConfig } from '../config.ts'
import { openStore } from '../db/sqlite/store.ts'
import { createTemporaryDir } from '../db/store.fixture.ts'
import type { Log } from '../lib/log.ts'
import { BackupRunner } from '../backup/backup-runner.ts'
import { BackupSchedule } from './backup-schedule.ts'

/** A log, and a promise that resolves when it contains the text. */
function logWaitingFor(text: string): { readonly log: Log; readonly isLogged: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const write = (line: string): void => {
    if (line.includes(text)) resolve()
  }
  return { log: Object.assign(pino({}, { write }), { line: () => undefined }), isLogged: promise }
}

describe('BackupSchedule', () => {
  test('failed backup whose notification fails – is logged', async (t) => {
    const dataDir = createTemporaryDir(t)
    const store = await openStore({ dataDir })
    await store.close()
    const backupDir = join(dataDir, 'a file')
    writeFileSync(backupDir, '')
    const config = { ...readConfig(), dataDir, databaseUrl: null, backupDir, backupEveryMs: 1 }
    const { log, isLogged } = logWaitingFor('backup failure notification failed')
    const schedule = new BackupSchedule({ backups: new BackupRunner(config), config, db: store.db, log })
    await isLogged
    await assert.doesNotReject(schedule.close())
  })
})
