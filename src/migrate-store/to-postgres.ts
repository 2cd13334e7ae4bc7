/**
 * Moves the content of a data directory into an empty PostgreSQL database, on which nodes can then start. The relay must be
 * stopped. Its open holds are settled and its ledger is verified first; then rows are copied, read back from both stores
 * and compared, and the ledger is verified in the target. If it is killed, the same command resumes.
 */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { dataKeyNames, findKeyFileSecret } from '../db/data-keys.ts'
import type { Db } from '../db/db.ts'
import { databaseFileName } from '../db/sqlite/store.ts'
import { PostgresTransfer, TransferTargetError } from '../db/transfer/to-postgres.ts'
import { readMoveMarker, writeMoveMarker, type MoveMarker } from '../db/transfer/move-marker.ts'
import { countRows, listTables, type ReadRows } from '../db/transfer/tables.ts'
import { newId } from '../lib/ids.ts'
import { noopCoreListener } from '../engine/core.ts'
import { openEmbeddedCore } from '../engine/sqlite/embedded-core.ts'
import { verifyInThread } from '../engine/verification/verify-thread.ts'
import { Progress, progressBar, type OnProgress } from './progress.ts'
import { compareTables, StoreMigrationError, readSqlite, type StoreMigration } from './compare-stores.ts'

/** Migrates the schema and settles open holds, as a start does. Throws if the ledger is inconsistent. */
async function settleLedger(config: Config, path: string): Promise<void> {
  const core = await openEmbeddedCore({ ...config, requestsKeptMs: 0 }, noopCoreListener)
  await core.close()
  const report = await verifyInThread(path)
  if (!report.ok)
    throw new StoreMigrationError(`The ledger in ${path} is inconsistent: ${report.findings.join('; ')}.`)
}

/** The last number that each table assigned to a row; numbers are never reused. */
async function lastRowNumbers(read: ReadRows): Promise<Map<string, number>> {
  const rows = await read({ sql: 'select name, seq from sqlite_sequence', parameters: [] })
  return new Map(rows.map((row) => [String(row['name']), Number(row['seq'])]))
}

interface MigrationContext {
  readonly config: Config
  readonly url: string
  readonly target: PostgresTransfer
  readonly onProgress: OnProgress
}

/** Copies rows that the target lacks, compares both stores, and allows starts on the target. */
async function transfer(
  { config, url, target, onProgress }: MigrationContext,
  source: Db,
): Promise<Pick<StoreMigration, 'tables' | 'ledger'>> {
  const read: ReadRows = (statement) => source.all(statement)
  const tables = await listTables(read)
  const progress = new Progress(2 * (await countRows(read, tables)), progressBar(onProgress))
  for (const table of tables)
    await target.copyTable(read, table, (rows) => progress.step(`moving ${table.name}`, rows))
  const digests = await compareTables(read, target.read, tables, progress)
  onProgress('recomputing the ledger in PostgreSQL')
  const ledger = await verifyInThread({ clusterUrl: url })
  if (!ledger.ok)
    throw new StoreMigrationError(`The ledger in the target is inconsistent: ${ledger.findings.join('; ')}.`)
  const secret = await findKeyFileSecret(source, config.dataDir)
  await target.finish(
    await lastRowNumbers(read),
    secret === undefined ? {} : { [dataKeyNames.sharedSecret]: secret },
  )
  return { tables: digests, ledger: { ok: ledger.ok, entries: ledger.entries } }
}

/** The state of the target: prepared now (`new`), partly filled by this source (`half`), or complete (`whole`). */
async function prepareTarget(
  path: string,
  target: PostgresTransfer,
  marker: MoveMarker | undefined,
): Promise<{ readonly moved: MoveMarker; readonly state: 'new' | 'half' | 'whole' }> {
  const origin = await target.readOrigin()
  if (origin !== undefined && origin.id === marker?.id) {
    if (!origin.isWhole) await target.createSchema(origin.id)
    return { moved: marker, state: origin.isWhole ? 'whole' : 'half' }
  }
  if (origin !== undefined) {
    const other = origin.isWhole ? '' : ', or repeat the move or restore that started to fill this one'
    throw new TransferTargetError(
      `The target is not empty: its content was moved there from another source. Set DATABASE_URL to an empty database${other}.`,
    )
  }
  if (marker?.isWhole === true)
    throw new StoreMigrationError(`The content of ${path} was moved at ${marker.at} to a different database.`)
  const moved = marker ?? { id: newId('move'), to: 'postgres', at: new Date().toISOString(), isWhole: false }
  const tables = await readSqlite(path, (db) => listTables((statement) => db.all(statement)))
  await target.begin(moved.id, tables, () => writeMoveMarker(path, moved))
  await target.createSchema(moved.id)
  return { moved, state: 'new' }
}

/** Moves the content of `config.dataDir`, which the caller must have locked. Throws StoreMigrationError or TransferTargetError. */
export async function migrateToPostgres(
  config: Config,
  url: string,
  onProgress: OnProgress,
): Promise<StoreMigration> {
  const path = join(config.dataDir, databaseFileName)
  if (!existsSync(path)) throw new StoreMigrationError(`No database to move in ${config.dataDir}.`)
  const marker = await readSqlite(path, readMoveMarker)
  if (marker?.to === 'sqlite')
    throw new StoreMigrationError(`Cannot move ${path}: its content was moved elsewhere at ${marker.at}.`)
  if (marker === undefined) {
    onProgress('recomputing the ledger')
    await settleLedger(config, path)
  }
  await using target = await PostgresTransfer.open(url)
  const { moved, state } = await prepareTarget(path, target, marker)
  const result =
    state === 'whole'
      ? { tables: [], ledger: null }
      : await readSqlite(path, (db) => transfer({ config, url, target, onProgress }, db))
  writeMoveMarker(path, { ...moved, isWhole: true })
  return { isNew: state !== 'whole', isResumed: state === 'half', ...result }
}

/** Abandons an unfinished move, so that the relay can start on its directory again. */
export async function abandonMigration(dataDir: string): Promise<void> {
  const path = join(dataDir, databaseFileName)
  if (!existsSync(path)) throw new StoreMigrationError(`No database found in ${dataDir}.`)
  const moved = await readSqlite(path, readMoveMarker)
  if (moved === undefined) throw new StoreMigrationError(`No move of ${dataDir} is in progress.`)
  if (moved.isWhole)
    throw new StoreMigrationError(
      `The move of ${moved.at} is finished: later changes are only in the new store.`,
    )
  writeMoveMarker(path, null)
}
