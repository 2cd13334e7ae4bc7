/** What says of a database that everything in it was moved into another: nobody may go on with both. */

import type { Db } from '../db.ts'
import { setting } from '../settings.ts'
import { openWriter } from '../sqlite/connection.ts'

const name = 'moved_to'

/** Of a database on the other side, that everything has not yet arrived in. */
export const unfinishedWords =
  'A move into this database is not finished. Run the same `sluice move` or `sluice restore` again.'

export interface MovedTo {
  /** Of this move; the target has it too. */
  readonly id: string
  readonly to: 'postgres' | 'sqlite'
  /** RFC 3339. */
  readonly at: string
  /** Everything has arrived; until then the same move has to be gone on with, or given up. */
  readonly isWhole: boolean
}

export async function movedTo(db: Db): Promise<MovedTo | undefined> {
  const value = await setting(db, name)
  return value === undefined ? undefined : (JSON.parse(value) as MovedTo)
}

/** Nobody may work on the database: what is in it lives elsewhere now. These words say where. */
export class MovedAway extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'MovedAway'
  }
}

/** Throws MovedAway where what is in the database lives elsewhere now. */
export async function checkNotMoved(db: Db): Promise<void> {
  const moved = await movedTo(db)
  if (moved === undefined) return
  const [from, where] =
    moved.to === 'postgres'
      ? ['sqlite', 'PostgreSQL: set DATABASE_URL']
      : ['postgres', 'a DATA_DIR: start without DATABASE_URL']
  const command = `\`sluice move --from ${from} --to ${moved.to}\``
  throw new MovedAway(
    moved.isWhole
      ? `Everything in this database was moved at ${moved.at} to ${where}.`
      : `A move of this database, begun at ${moved.at}, is not finished: run ${command} again, or with --give-up.`,
  )
}

/** Writes it into a SQLite file that nobody else has open; null: nothing was moved, after all. */
export function noteMoved(path: string, moved: MovedTo | null): void {
  const connection = openWriter(path)
  try {
    connection.run({ sql: 'delete from settings where name = ?', parameters: [name] })
    if (moved !== null) connection.run(notingMoved(moved))
    connection.database.exec('pragma wal_checkpoint(truncate)')
  } finally {
    connection.close()
  }
}

export const notingMoved = (moved: MovedTo): { sql: string; parameters: string[] } => ({
  sql: 'insert into settings (name, value) values (?, ?)',
  parameters: [name, JSON.stringify(moved)],
})

const originName = 'moved_from'

/** The move that has made this SQLite file; undefined for one that began by itself. */
export function movedFrom(db: Db): Promise<string | undefined> {
  return setting(db, originName)
}

/** Writes into a SQLite file which move has made it. */
export function noteOrigin(path: string, id: string): void {
  const connection = openWriter(path)
  try {
    const sql = 'insert into settings (name, value) values (?, ?)'
    connection.run({ sql, parameters: [originName, id] })
    connection.database.exec('pragma journal_mode = delete')
  } finally {
    connection.close()
  }
}
