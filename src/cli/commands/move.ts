/** `sluice move`: migrates all data from one kind of database to the other. */

import { Option, type Command } from 'commander'
import { readConfig } from '../../config.ts'
import { acquireLock } from '../../db/sqlite/data-directory-lock.ts'
import type { StoreMigration } from '../../migrate-store/compare-stores.ts'
import { abandonMigration, migrateToPostgres } from '../../migrate-store/to-postgres.ts'
import { migrateToSqlite } from '../../migrate-store/to-sqlite.ts'
import { withJsonOption, progressOption } from '../options.ts'
import { CommandError, printResult, UsageError, withProgress, type ProgressOptions } from '../output.ts'

type StoreKind = 'sqlite' | 'postgres'

interface MoveOptions extends ProgressOptions {
  readonly from: StoreKind
  readonly to: StoreKind
  readonly giveUp?: boolean
}

const storeTexts = {
  postgres: { name: 'PostgreSQL', start: 'with DATABASE_URL', source: 'the old DATA_DIR' },
  sqlite: { name: 'SQLite', start: 'without DATABASE_URL', source: 'the old PostgreSQL database' },
}

function formatMoved(moved: StoreMigration, to: StoreKind): string {
  const { name, start, source } = storeTexts[to]
  if (!moved.isNew) return `All data had already been moved. Start the relay ${start}.`
  const rows = moved.tables.reduce((sum, table) => sum + table.rows, 0)
  const summary = `Moved ${rows} rows of ${moved.tables.length} tables to ${name} and compared them row by row; the ledger is consistent.`
  return [
    ...(moved.ledger === null ? [] : [summary]),
    `Start the relay ${start} from now on. It no longer starts on ${source}.`,
  ].join('\n')
}

async function move(options: MoveOptions): Promise<void> {
  const { from, to } = options
  if (from === to) throw new UsageError('--from and --to must differ.')
  if (options.giveUp === true && to === 'sqlite')
    throw new UsageError('A move to SQLite leaves nothing to undo. Start the nodes again instead.')
  const config = readConfig()
  const { databaseUrl: url, dataDir } = config
  if (url === null) throw new CommandError('DATABASE_URL must be set to the PostgreSQL database.')
  using _lock = acquireLock(dataDir, { command: 'move' })
  if (options.giveUp === true) {
    await abandonMigration(dataDir)
    const message = `The relay can be started on ${dataDir} without DATABASE_URL again. Drop the incomplete PostgreSQL database.`
    return printResult({ given_up: true, data_dir: dataDir }, options, () => message)
  }
  const moved = await withProgress(options, 'opening both databases', (report) =>
    to === 'postgres'
      ? migrateToPostgres({ ...config, databaseUrl: null }, url, report)
      : migrateToSqlite(dataDir, url, report),
  )
  const { isNew, isResumed, tables, ledger } = moved
  const result = { from, to, new: isNew, resumed: isResumed, tables, ledger }
  printResult(result, options, () => formatMoved(moved, to))
}

const storeKinds = ['sqlite', 'postgres'] as const

export function configure(command: Command): void {
  withJsonOption(command, 'move --from sqlite --to postgres', 'move --from postgres --to sqlite')
    .addOption(new Option('--from <kind>', 'the current store').choices(storeKinds).makeOptionMandatory())
    .addOption(new Option('--to <kind>', 'the new store').choices(storeKinds).makeOptionMandatory())
    .option('--give-up', 'abandon an unfinished move, so that the source can be started again')
    .option(...progressOption)
    .addHelpText(
      'after',
      '\nMoves DATA_DIR to the empty PostgreSQL database of DATABASE_URL, or back. No relay may be running on either.\n' +
        'Rows are read back and compared, and the ledger is verified. To resume an interrupted move, repeat the command.',
    )
    .action(move)
}
