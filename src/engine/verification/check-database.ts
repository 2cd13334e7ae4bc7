import { checkBackup } from '../../db/sqlite/backup-file.ts'
import { openReadOnly } from '../../db/sqlite/read-only.ts'
import { verifyLedger } from './replay.ts'
import { sqliteSource } from './sqlite-source.ts'

export interface DatabaseReport {
  readonly schema_version: number
  readonly last_commit: number
  readonly accounts: number
  readonly entries: number
}

/** Reads a whole database file: it must be intact, ours, of a known schema, and its ledger consistent. Throws an error that says what is wrong. */
export async function checkDatabase(path: string): Promise<DatabaseReport> {
  const report = checkBackup(path)
  const reader = openReadOnly(path)
  try {
    const ledger = await verifyLedger(sqliteSource, reader.db)
    if (!ledger.ok) throw new Error(`The ledger in ${path} is inconsistent: ${ledger.findings.join('; ')}.`)
    return {
      schema_version: report.schemaVersion,
      last_commit: report.lastSeq,
      accounts: report.accounts,
      entries: ledger.entries,
    }
  } finally {
    reader.close()
  }
}
