/**
 * Copies a snapshot of a cluster's database to the file of a single relay while the nodes run, for backups. Holds of the
 * nodes are copied as open holds; a start on the file ends them at their last marks, as after a crash.
 */

import { dataKeyNames } from '../db/data-keys.ts'
import type { Db } from '../db/db.ts'
import { readSnapshot } from '../db/postgres/snapshot.ts'
import { getSetting } from '../db/settings.ts'
import { readDeletedRequests } from '../db/retention/delete-requests.ts'
import { sql } from '../db/schema/schema.ts'
import { checkNotMoved, unfinishedMoveMessage } from '../db/transfer/move-marker.ts'
import {
  createSqliteTarget,
  newestSchemaVersion,
  snapshotReader,
  type SqliteTarget,
} from '../db/transfer/to-sqlite.ts'
import { countRows } from '../db/transfer/tables.ts'
import { applyToHolds } from '../ledger/apply.ts'
import { encodeHolds } from '../ledger/checkpoint.ts'
import { decodeEvents } from '../ledger/journal.ts'
import { emptyState } from '../ledger/state.ts'
import { Progress, type OnAdvance } from './progress.ts'

/**
 * A single relay deletes request rows in the order of its commits, nodes in the order of their rows, which may differ
 * slightly for concurrent commits. So rows between deleted ones must be deleted as well.
 */
class DeletedRequests {
  readonly #db: Db
  readonly #total: number
  #found = 0
  #between: string[] = []
  /** Requests whose rows exist, but come before the last deleted one. */
  readonly extra: string[] = []

  constructor(db: Db, total: number) {
    this.#db = db
    this.#total = total
  }

  /** Adds the next bills, in the order of their commits. */
  async follow(ids: readonly string[]): Promise<void> {
    if (this.#found === this.#total || ids.length === 0) return
    const query = sql.selectFrom('requests').select('request_id').where('request_id', 'in', ids)
    const existing = new Set((await this.#db.report(query)).map((row) => row.request_id))
    for (const id of ids) {
      if (this.#found === this.#total) return
      if (existing.has(id)) this.#between.push(id)
      else {
        this.#found += 1
        this.extra.push(...this.#between)
        this.#between = []
      }
    }
  }
}

/** Copies the journal with its entries, the open holds, and the deletions of request rows. Returns how many are extra. */
async function copyLedger(db: Db, target: SqliteTarget, progress: Progress): Promise<number> {
  const state = emptyState()
  const deleted = new DeletedRequests(db, (await readDeletedRequests(db)).bills)
  let at = 0
  const last = await target.copyLedger(
    snapshotReader(db),
    async (bodies) => {
      const events = bodies.flatMap(decodeEvents)
      for (const event of events) applyToHolds(state, event)
      at = events.at(-1)?.at ?? at
      await deleted.follow(
        events.flatMap((event) => (event.kind === 'settled' && event.charge > 0n ? [event.id] : [])),
      )
    },
    (rows) => progress.step('copying the ledger', rows),
  )
  for (const id of deleted.extra) target.deleteRequest(id)
  if (last > 0) target.writeCheckpoint(last, at, encodeHolds(state))
  return deleted.extra.length
}

async function copyAll(db: Db, target: SqliteTarget, onAdvance: OnAdvance): Promise<number> {
  const read = snapshotReader(db)
  const progress = new Progress(await countRows(read, target.tables), onAdvance)
  for (const table of target.tables) {
    if (table.name === 'journal' || table.name === 'entries') continue
    await target.copyTable(read, table, (rows) => progress.step(`copying ${table.name}`, rows))
  }
  return copyLedger(db, target, progress)
}

export interface PostgresCopy {
  /** The secret that decrypts its credentials, if the database contains it. */
  readonly secret: string | undefined
  /** How many request rows were omitted in addition to the deleted ones. */
  readonly extraDeleted: number
}

/** Throws if the database is incomplete because a move into it is unfinished, or if its content was moved elsewhere. */
async function checkComplete(db: Db): Promise<void> {
  const moving = await db.first({ sql: `select 1 where to_regclass('moving') is not null`, parameters: [] })
  if (moving !== undefined) throw new Error(unfinishedMoveMessage)
  await checkNotMoved(db)
}

/** Writes a new file. Throws if a move into the database is unfinished, and DatabaseMovedError if it was moved elsewhere. */
export function copyFromPostgres(url: string, path: string, onAdvance: OnAdvance): Promise<PostgresCopy> {
  return readSnapshot(url, async (db) => {
    await checkComplete(db)
    const [row] = await db.report<{ version: number }>({
      sql: 'select max(version) as version from schema_version',
      parameters: [],
    })
    if (row?.version !== newestSchemaVersion)
      throw new Error(
        `The database has schema ${row?.version ?? 0}, but this release has schema ${newestSchemaVersion}. Use the release that runs on the database.`,
      )
    using target = await createSqliteTarget(path)
    const extraDeleted = await copyAll(db, target, onAdvance)
    return { secret: await getSetting(db, dataKeyNames.sharedSecret), extraDeleted }
  })
}
