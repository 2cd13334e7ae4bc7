/** The marker of a database whose content was moved to another one, so that nobody continues to use both. */

import type { Db } from '../db.ts'
import { getSetting } from '../settings.ts'
import { openWriter } from '../sqlite/connection.ts'

const markerName = 'moved_to'

/** The error of a target database whose move is not finished. */
export const unfinishedMoveMessage =
  'A move into this database is not finished. Run the same `sluice move` or `sluice restore` again.'

export interface MoveMarker {
  /** The id of the move, which the target stores, too. */
  readonly id: string
  readonly to: 'postgres' | 'sqlite'
  /** RFC 3339. */
  readonly at: string
  /** The move is complete; until then it must be resumed or given up. */
  readonly isWhole: boolean
}

export async function readMoveMarker(db: Db): Promise<MoveMarker | undefined> {
  const value = await getSetting(db, markerName)
  return value === undefined ? undefined : (JSON.parse(value) as MoveMarker)
}

/** The database must not be used, because its content was moved; the message says where. */
export class DatabaseMovedError extends Error {
  override readonly name = 'DatabaseMovedError'
}

/** Throws DatabaseMovedError if the database was moved. */
export async function checkNotMoved(db: Db): Promise<void> {
  const moved = await readMoveMarker(db)
  if (moved === undefined) return
  const [from, where] =
    moved.to === 'postgres'
      ? ['sqlite', 'PostgreSQL: set DATABASE_URL']
      : ['postgres', 'a DATA_DIR: start without DATABASE_URL']
  const command = `\`sluice move --from ${from} --to ${moved.to}\``
  throw new DatabaseMovedError(
    moved.isWhole
      ? `Everything in this database was moved at ${moved.at} to ${where}.`
      : `A move of this database, begun at ${moved.at}, is not finished: run ${command} again, or with --give-up.`,
  )
}

/** Writes the marker to a SQLite file that is not open elsewhere; null removes it. */
export function writeMoveMarker(path: string, moved: MoveMarker | null): void {
  using connection = openWriter(path)
  connection.run({ sql: 'delete from settings where name = ?', parameters: [markerName] })
  if (moved !== null) connection.run(moveMarkerStatement(moved))
  connection.database.exec('pragma wal_checkpoint(truncate)')
}

export const moveMarkerStatement = (moved: MoveMarker): { sql: string; parameters: string[] } => ({
  sql: 'insert into settings (name, value) values (?, ?)',
  parameters: [markerName, JSON.stringify(moved)],
})

const originName = 'moved_from'

/** Returns the move that created this SQLite file; undefined if none did. */
export function readMoveOrigin(db: Db): Promise<string | undefined> {
  return getSetting(db, originName)
}

/** Records in a SQLite file which move created it. */
export function writeMoveOrigin(path: string, id: string): void {
  using connection = openWriter(path)
  const sql = 'insert into settings (name, value) values (?, ?)'
  connection.run({ sql, parameters: [originName, id] })
  connection.database.exec('pragma journal_mode = delete')
}
