/** What migrations in both directions share: reading and comparing both stores, and the result. */

import type { Db } from '../db/db.ts'
import { openReadOnly } from '../db/sqlite/read-only.ts'
import { digestTable, type TableDigest } from '../db/transfer/digest.ts'
import type { ReadRows, TableShape } from '../db/transfer/tables.ts'
import type { Progress } from './progress.ts'

/** A store cannot be migrated; the message says why. */
export class StoreMigrationError extends Error {
  override readonly name = 'StoreMigrationError'
}

export interface StoreMigration {
  /** False: it was already done. */
  readonly isNew: boolean
  /** It resumed an interrupted migration. */
  readonly isResumed: boolean
  readonly tables: readonly (TableDigest & { readonly name: string })[]
  /** The verification of the target; null: it was already done. */
  readonly ledger: { readonly ok: boolean; readonly entries: number } | null
}

/** Reads a SQLite file in one snapshot. */
export async function readSqlite<Result>(path: string, read: (db: Db) => Promise<Result>): Promise<Result> {
  using reader = openReadOnly(path)
  return await read(reader.db)
}

/** Reads whole tables of both stores. Throws StoreMigrationError if they differ. */
export async function compareTables(
  source: ReadRows,
  target: ReadRows,
  tables: readonly TableShape[],
  progress: Progress,
): Promise<StoreMigration['tables']> {
  const digests = []
  for (const table of tables) {
    const { name } = table
    const [sourceDigest, targetDigest] = await Promise.all([
      digestTable(source, table, (rows) => progress.step(`comparing ${name}`, rows)),
      digestTable(target, table, () => undefined),
    ])
    if (sourceDigest.rows !== targetDigest.rows || sourceDigest.sha256 !== targetDigest.sha256)
      throw new StoreMigrationError(
        `The table ${name} differs between source (${sourceDigest.rows} rows) and target (${targetDigest.rows} rows).`,
      )
    digests.push({ name, ...sourceDigest })
  }
  return digests
}
