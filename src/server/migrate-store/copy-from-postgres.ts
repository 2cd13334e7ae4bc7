/**
 * One moment of a cluster's database as the file of one relay, while its nodes run: for backups. What nodes hold comes
 * along as open holds, which whoever starts on the file ends at their last marks, as after a crash.
 */

import type { Db } from '../../db/db.ts'
import { openSnapshots } from '../../db/postgres/snapshot.ts'
import { setting } from '../../db/settings.ts'
import { sql } from '../../db/schema/schema.ts'
import { checkNotMoved, unfinishedWords } from '../../db/transfer/move-marker.ts'
import { makeSqliteTarget, newestSchema, readOf, type SqliteTarget } from '../../db/transfer/to-sqlite.ts'
import { countRows } from '../../db/transfer/tables.ts'
import { applyToHolds, encodeHolds } from '../../ledger/checkpoint.ts'
import { decodeEvents } from '../../ledger/journal.ts'
import { emptyState } from '../../ledger/state.ts'
import { sumOfDropped } from '../../ledger/verify.ts'
import { Progress, type Advance } from '../move/progress.ts'

/**
 * One relay deletes request rows in the order of its commits, nodes in the order of their rows, which may differ a little
 * where two have committed at once. So rows between those that are gone go as well.
 */
class Gone {
  readonly #db: Db
  readonly #most: number
  #found = 0
  #between: string[] = []
  /** Requests whose rows are there, before the last of those whose rows are not. */
  readonly also: string[] = []

  constructor(db: Db, most: number) {
    this.#db = db
    this.#most = most
  }

  /** Takes the next bills, in the order of their commits. */
  async follow(ids: readonly string[]): Promise<void> {
    if (this.#found === this.#most || ids.length === 0) return
    const query = sql.selectFrom('requests').select('request_id').where('request_id', 'in', ids)
    const there = new Set((await this.#db.report(query)).map((row) => row.request_id))
    for (const id of ids) {
      if (this.#found === this.#most) return
      if (there.has(id)) this.#between.push(id)
      else {
        this.#found += 1
        this.also.push(...this.#between)
        this.#between = []
      }
    }
  }
}

/** The journal with its entries, the open holds after it, and what it says of request rows that are gone. */
async function takeLedger(db: Db, target: SqliteTarget, progress: Progress): Promise<number> {
  const state = emptyState()
  const gone = new Gone(db, sumOfDropped(await db.report(sql.selectFrom('dropped_bills').selectAll())).bills)
  let at = 0
  const last = await target.takeLedger(
    readOf(db),
    async (bodies) => {
      const events = bodies.flatMap(decodeEvents)
      for (const event of events) applyToHolds(state, event)
      at = events.at(-1)?.at ?? at
      await gone.follow(
        events.flatMap((event) => (event.kind === 'settled' && event.charge > 0n ? [event.id] : [])),
      )
    },
    (rows) => progress.step('copying the ledger', rows),
  )
  for (const id of gone.also) target.dropRequest(id)
  if (last > 0) target.checkpoint(last, at, encodeHolds(state))
  return gone.also.length
}

async function copyAll(db: Db, target: SqliteTarget, advance: Advance): Promise<number> {
  const read = readOf(db)
  const counts = await countRows(read, target.tables)
  const progress = new Progress(
    Array.from(counts.values()).reduce((sum, rows) => sum + rows, 0),
    advance,
  )
  for (const table of target.tables) {
    if (table.name === 'journal' || table.name === 'entries') continue
    await target.take(read, table, (rows) => progress.step(`copying ${table.name}`, rows))
  }
  return takeLedger(db, target, progress)
}

export interface Copied {
  /** What opens its credentials, where that lies in the database. */
  readonly secret: string | undefined
  /** How many request rows were left out, beside those that had been deleted. */
  readonly alsoGone: number
}

/** Nobody may take what has not arrived, or is elsewhere by now, for everything there is. */
async function checkWhole(db: Db): Promise<void> {
  const moving = await db.first({ sql: `select 1 where to_regclass('moving') is not null`, parameters: [] })
  if (moving !== undefined) throw new Error(unfinishedWords)
  await checkNotMoved(db)
}

/** Writes the file anew. Throws where a move into the database is not finished, and MovedAway where it was moved. */
export function copyFromPostgres(url: string, path: string, advance: Advance): Promise<Copied> {
  return openSnapshots(url).look(async (db) => {
    await checkWhole(db)
    const [row] = await db.report<{ version: number }>({
      sql: 'select max(version) as version from schema_version',
      parameters: [],
    })
    if (row?.version !== newestSchema)
      throw new Error(
        `The database has schema ${row?.version ?? 0}, this release has ${newestSchema}: ask with the release that runs on it.`,
      )
    const target = await makeSqliteTarget(path)
    try {
      const alsoGone = await copyAll(db, target, advance)
      return { secret: await setting(db, 'data_key_secret'), alsoGone }
    } finally {
      target.close()
    }
  })
}
