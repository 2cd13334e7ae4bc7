/** `sluice move`: everything from one kind of database into the other. */

import { Option, type Command } from 'commander'
import { readConfig } from '../config.ts'
import { takeLock } from '../server/lock.ts'
import { giveUpMove, moveToPostgres, type Moved } from '../server/move/to-postgres.ts'
import { finished, progressOption } from './options.ts'
import { CommandError, printResult, UsageError, withProgress, type Format, type Progress } from './output.ts'

type Kind = 'sqlite' | 'postgres'

interface MoveOptions extends Format, Progress {
  readonly from: Kind
  readonly to: Kind
  readonly giveUp?: boolean
}

function wordsOf(moved: Moved): string {
  if (!moved.isNew) return 'Everything had been moved already. Start the nodes with DATABASE_URL.'
  const rows = moved.tables.reduce((sum, table) => sum + table.rows, 0)
  return [
    `${rows} rows of ${moved.tables.length} tables are in PostgreSQL, compared row by row; the ledger holds there.`,
    'Start the relay with DATABASE_URL from now on. Without it, it does not start on this directory any more.',
  ].join('\n')
}

async function move(options: MoveOptions): Promise<void> {
  const { from, to } = options
  if (from === to) throw new UsageError('--from and --to have to be different.')
  const config = readConfig()
  const { databaseUrl: url, dataDir } = config
  if (url === null) throw new CommandError('DATABASE_URL has to name the PostgreSQL.')
  const lock = takeLock(dataDir, { command: 'move' })
  try {
    if (options.giveUp === true) {
      await giveUpMove(dataDir)
      const words = `The relay may be started on ${dataDir} without DATABASE_URL. Drop the half filled PostgreSQL database.`
      return printResult({ given_up: true, data_dir: dataDir }, options, () => words)
    }
    let step = 'opening both sides'
    const moved = await withProgress(
      options,
      () => step,
      () => moveToPostgres({ ...config, databaseUrl: null }, url, (next) => (step = next)),
    )
    const { isNew, isResumed, tables, ledger } = moved
    const answer = {
      from,
      to,
      new: isNew,
      resumed: isResumed,
      tables,
      ledger: ledger && { ok: ledger.ok, entries: ledger.entries, open_holds: ledger.openHolds },
    }
    printResult(answer, options, () => wordsOf(moved))
  } finally {
    lock.release()
  }
}

const kinds = ['sqlite', 'postgres'] as const

export function completeMove(command: Command): void {
  finished(command, 'move --from sqlite --to postgres')
    .addOption(new Option('--from <kind>', 'where everything is').choices(kinds).makeOptionMandatory())
    .addOption(new Option('--to <kind>', 'where it shall be').choices(kinds).makeOptionMandatory())
    .option('--give-up', 'take back a move that is not finished: the source is started again instead')
    .option(...progressOption)
    .addHelpText(
      'after',
      '\nMoves DATA_DIR into the empty PostgreSQL of DATABASE_URL. No relay may run on either side. Rows are read back and\n' +
        'compared, and the ledger is recomputed over there. Cut off at any moment, the same command goes on where it was.',
    )
    .action(move)
}
