/** `sluice move`: everything from one kind of database into the other. */

import { Option, type Command } from 'commander'
import { readConfig } from '../config.ts'
import { takeLock } from '../server/lock.ts'
import type { Moved } from '../server/move/sides.ts'
import { giveUpMove, moveToPostgres } from '../server/move/to-postgres.ts'
import { moveToSqlite } from '../server/move/to-sqlite.ts'
import { finished, progressOption } from './options.ts'
import { CommandError, printResult, UsageError, withProgress, type Format, type Progress } from './output.ts'

type Kind = 'sqlite' | 'postgres'

interface MoveOptions extends Format, Progress {
  readonly from: Kind
  readonly to: Kind
  readonly giveUp?: boolean
}

const places = {
  postgres: { name: 'PostgreSQL', start: 'with DATABASE_URL', not: 'Without it, it does not start' },
  sqlite: { name: 'the file', start: 'without DATABASE_URL', not: 'With it, no node starts' },
}

function wordsOf(moved: Moved, to: Kind): string {
  const { name, start, not } = places[to]
  if (!moved.isNew) return `Everything had been moved already. Start ${start}.`
  const rows = moved.tables.reduce((sum, table) => sum + table.rows, 0)
  const compared = `${rows} rows of ${moved.tables.length} tables are in ${name}, compared row by row; the ledger holds there.`
  return [
    ...(moved.ledger === null ? [] : [compared]),
    `Start the relay ${start} from now on. ${not} on what was left any more.`,
  ].join('\n')
}

async function move(options: MoveOptions): Promise<void> {
  const { from, to } = options
  if (from === to) throw new UsageError('--from and --to have to be different.')
  if (options.giveUp === true && to === 'sqlite')
    throw new UsageError('A move to SQLite leaves nothing half done: start the nodes again instead.')
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
      () => {
        const say = (next: string): void => void (step = next)
        return to === 'postgres'
          ? moveToPostgres({ ...config, databaseUrl: null }, url, say)
          : moveToSqlite(dataDir, url, say)
      },
    )
    const { isNew, isResumed, tables, ledger } = moved
    const answer = { from, to, new: isNew, resumed: isResumed, tables, ledger }
    printResult(answer, options, () => wordsOf(moved, to))
  } finally {
    lock.release()
  }
}

const kinds = ['sqlite', 'postgres'] as const

export function completeMove(command: Command): void {
  finished(command, 'move --from sqlite --to postgres', 'move --from postgres --to sqlite')
    .addOption(new Option('--from <kind>', 'where everything is').choices(kinds).makeOptionMandatory())
    .addOption(new Option('--to <kind>', 'where it shall be').choices(kinds).makeOptionMandatory())
    .option('--give-up', 'take back a move that is not finished: the source is started again instead')
    .option(...progressOption)
    .addHelpText(
      'after',
      '\nMoves DATA_DIR into the empty PostgreSQL of DATABASE_URL, or back. No relay may run on either side. Rows are read back\n' +
        'and compared, and the ledger is recomputed over there. Cut off at any moment, the same command goes on.',
    )
    .action(move)
}
