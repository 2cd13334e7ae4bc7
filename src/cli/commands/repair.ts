/** `sluice repair`: makes a ledger consistent again that has text which not every store can keep. */

import type { Command } from 'commander'
import { join } from 'node:path'
import { readConfig, type Config } from '../../config.ts'
import { readSnapshot } from '../../db/postgres/snapshot.ts'
import { rewritePostgresLedger } from '../../db/postgres/rewrite-ledger.ts'
import { databaseFileName } from '../../db/sqlite/store.ts'
import { openReadOnly } from '../../db/sqlite/read-only.ts'
import { rewriteSqliteLedger } from '../../db/sqlite/rewrite-ledger.ts'
import { escapeInvalidText } from '../../lib/valid-text.ts'
import { acquireLock } from '../../db/sqlite/data-directory-lock.ts'
import { findTextRepair, repairText, type TextRepair } from '../../engine/repair-text.ts'
import { checkCluster } from '../admin-client.ts'
import { progressOption, withJsonOption } from '../options.ts'
import { formatTable, printResult, withProgress, type ProgressOptions } from '../output.ts'

interface RepairOptions extends ProgressOptions {
  readonly apply?: boolean
}

/** Reads only, so a relay may be running. */
async function findRepair({ databaseUrl, dataDir }: Config): Promise<TextRepair> {
  if (databaseUrl !== null) return readSnapshot(databaseUrl, (db) => findTextRepair('postgres', db))
  using reader = openReadOnly(join(dataDir, databaseFileName))
  return await findTextRepair('sqlite', reader.db)
}

async function applyRepair({ databaseUrl, dataDir }: Config): Promise<TextRepair> {
  using _lock = acquireLock(dataDir, { command: 'repair' })
  return await (databaseUrl === null
    ? rewriteSqliteLedger(join(dataDir, databaseFileName), (rewriter) => repairText('sqlite', rewriter))
    : rewritePostgresLedger(databaseUrl, (rewriter) => repairText('postgres', rewriter)))
}

const shown = (text: string): string => escapeInvalidText(text).replaceAll('\uFFFD', '\\ufffd')

function formatRepair({ texts, rehashed }: TextRepair, isApplied: boolean): string {
  if (texts.length === 0) return 'Nothing to repair: all texts of the ledger are valid.'
  const titles = ['table', 'commit', 'ref', 'field', 'before', 'after']
  const rows = texts.map(({ table, commit, ref, field, before, after }) => [
    table,
    String(commit),
    shown(ref),
    field,
    shown(before),
    shown(after),
  ])
  const hashes = `the hashes of ${rehashed} commits`
  const summary = isApplied
    ? `Repaired ${texts.length} texts and computed ${hashes} anew. The ledger is consistent.`
    : `Nothing was changed. A repair would change ${texts.length} texts and ${hashes}: stop the relay, back up the data as it is, and run sluice repair --apply.`
  return `${formatTable(titles, rows)}\n${summary}`
}

async function repair(options: RepairOptions): Promise<void> {
  const config = readConfig()
  await checkCluster(config)
  const isApplied = options.apply === true
  const result = await (isApplied
    ? withProgress(options, 'repairing the ledger', () => applyRepair(config))
    : withProgress(options, 'reading the ledger', () => findRepair(config)))
  const { texts, rehashed, ledger } = result
  const report = ledger && { ok: ledger.ok, entries: ledger.entries }
  const isChanged = isApplied && texts.length > 0
  printResult({ applied: isChanged, texts, rehashed, ledger: report }, options, () =>
    formatRepair(result, isApplied),
  )
}

export function configure(command: Command): void {
  withJsonOption(command, 'repair', 'repair --apply')
    .option('--apply', 'change the ledger; by default, only list what would be changed')
    .option(...progressOption)
    .addHelpText(
      'after',
      '\nEarlier releases accepted text that the store cannot keep, half a character or U+0000, in the reason of a credit.\n' +
        'sluice verify then reports entries that differ in reason or ref, and no backup can be made. This command replaces\n' +
        'such characters by U+FFFD, in one transaction that is undone unless the whole ledger is consistent afterwards.\n' +
        'It changes no amounts. No relay may be running when it is applied.',
    )
    .action(repair)
}
