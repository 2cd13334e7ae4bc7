/**
 * Moves the content of a cluster's database into the file of a single relay. The nodes must be stopped. The file is built
 * and verified as a draft; then PostgreSQL is marked as moved, and the file is moved into place. Interrupted before the
 * mark, the same command starts again; after it, it resumes.
 */

import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { restoreBackup } from '../db/sqlite/backup-file.ts'
import { databaseFileName } from '../db/sqlite/store.ts'
import { PostgresTransfer } from '../db/transfer/to-postgres.ts'
import { readMoveOrigin, readMoveMarker, writeMoveOrigin } from '../db/transfer/move-marker.ts'
import { countRows, listTables, type ReadRows } from '../db/transfer/tables.ts'
import { newId } from '../lib/ids.ts'
import { keyFileName, readKeyFile } from '../lib/key-file.ts'
import { checkDatabase } from '../engine/verification/sqlite-source.ts'
import { syncPath } from '../lib/sync-path.ts'
import { copyFromPostgres, type PostgresCopy } from './copy-from-postgres.ts'
import { Progress, progressBar, type OnProgress } from './progress.ts'
import { compareTables, StoreMigrationError, readSqlite, type StoreMigration } from './compare-stores.ts'

const targetFileName = 'moving.db'

/** The target of a move, and the draft of its file. */
interface TargetPaths {
  readonly dataDir: string
  readonly path: string
  readonly draft: string
}

/** Tables that the verification of the ledger covers, or that a single relay numbers differently, are not compared by row. */
function isComparable(table: string, { extraDeleted }: PostgresCopy): boolean {
  if (table === 'journal' || table === 'entries') return false
  return extraDeleted === 0 || (table !== 'requests' && table !== 'dropped_bills')
}

async function buildFile(
  source: PostgresTransfer,
  { dataDir, draft }: TargetPaths,
  url: string,
  onProgress: OnProgress,
): Promise<Pick<StoreMigration, 'tables' | 'ledger'>> {
  const copied = await copyFromPostgres(url, draft, progressBar(onProgress))
  const tables = await readSqlite(draft, async (db) => {
    const read: ReadRows = (statement) => db.all(statement)
    const shapes = (await listTables(read)).filter(({ name }) => isComparable(name, copied))
    const progress = new Progress(await countRows(read, shapes), progressBar(onProgress))
    return compareTables(read, source.read, shapes, progress)
  })
  onProgress('recomputing the ledger')
  const { entries } = await checkDatabase(draft)
  if (copied.secret !== undefined) writeKeyFile(dataDir, copied.secret)
  return { tables, ledger: { ok: true, entries } }
}

/** Keeps an existing key file of earlier content under another name. */
function writeKeyFile(dataDir: string, secret: string): void {
  if (readKeyFile(dataDir) === secret) return
  const path = join(dataDir, keyFileName)
  if (existsSync(path)) renameSync(path, `${path}.before`)
  writeFileSync(path, `${secret}\n`, { mode: 0o600, flag: 'wx', flush: true })
}

function moveIntoPlace({ dataDir, draft, path }: TargetPaths): void {
  restoreBackup(draft, dataDir, { replace: existsSync(path) })
  rmSync(draft, { force: true })
  syncPath(dataDir)
}

/** Throws unless the directory has no database, or one whose content was moved elsewhere before. */
async function checkTarget({ path, dataDir }: TargetPaths): Promise<void> {
  if (!existsSync(path) || (await readSqlite(path, readMoveMarker))?.isWhole === true) return
  throw new StoreMigrationError(
    `${dataDir} already contains a database. Set DATA_DIR to a folder without one.`,
  )
}

async function readOrigin(path: string): Promise<string | undefined> {
  return existsSync(path) ? readSqlite(path, readMoveOrigin) : undefined
}

/** Moves the content of a PostgreSQL database to `dataDir`, which the caller must have locked. Throws StoreMigrationError or TransferTargetError. */
export async function migrateToSqlite(
  dataDir: string,
  url: string,
  onProgress: OnProgress,
): Promise<StoreMigration> {
  const paths = { dataDir, path: join(dataDir, databaseFileName), draft: join(dataDir, targetFileName) }
  await using source = await PostgresTransfer.open(url)
  const before = await source.readMoveMarker()
  if (before !== undefined) {
    const done = { isNew: false, isResumed: false, tables: [], ledger: null }
    if ((await readOrigin(paths.path)) === before.id) return done
    if ((await readOrigin(paths.draft)) !== before.id)
      throw new StoreMigrationError(
        `The content of this PostgreSQL database was moved at ${before.at} to another directory.`,
      )
    moveIntoPlace(paths)
    return { ...done, isNew: true, isResumed: true }
  }
  await source.checkStopped()
  await checkTarget(paths)
  const made = await buildFile(source, paths, url, onProgress)
  const id = newId('move')
  writeMoveOrigin(paths.draft, id)
  syncPath(paths.draft)
  await source.writeMoveMarker({ id, to: 'sqlite', at: new Date().toISOString(), isWhole: true })
  moveIntoPlace(paths)
  return { isNew: true, isResumed: false, ...made }
}
