/**
 * Numbers up to which nothing is missing. Rows are numbered when they are written and seen when they are committed, so
 * one may appear after others with higher numbers. Whoever is writing is waited for, and nobody waits for us: a
 * transaction has its lock on a table before it numbers a row, and until it can be seen.
 */

import { setTimeout as delay } from 'node:timers/promises'
import type { Db } from '../db.ts'
import type { Snapshots } from './snapshot.ts'

export interface Ends {
  readonly entryId: number
  readonly rowId: number
}

const lookEveryMs = 20

const writersText = `select virtualtransaction as writer from pg_locks
  where locktype = 'relation' and mode = 'RowExclusiveLock' and granted
    and database = (select oid from pg_database where datname = current_database())
    and relation in ('entries'::regclass, 'requests'::regclass)`

async function writersNow(db: Db): Promise<Set<string>> {
  const rows = await db.report<{ writer: string }>({ sql: writersText, parameters: [] })
  return new Set(rows.map(({ writer }) => writer))
}

/** The last numbers of entries and of request rows that can be seen in this moment; 0 where there are none. */
export async function endsNow(db: Db): Promise<Ends> {
  const [row] = await db.report<{ entry_id: number; row_id: number }>({
    sql: `select (select coalesce(max(id), 0) from entries) as entry_id,
      (select coalesce(max(row_id), 0) from requests) as row_id`,
    parameters: [],
  })
  return { entryId: row?.entry_id ?? 0, rowId: row?.row_id ?? 0 }
}

/** Up to these numbers every later moment sees the same entries, and no other request rows. */
export async function settledEnds({ look }: Pick<Snapshots, 'look'>): Promise<Ends> {
  const ends = await look(endsNow)
  // Asked after the numbers were read: whoever is not among these by now can be seen.
  let writers = await look(writersNow)
  while (writers.size > 0) {
    await delay(lookEveryMs)
    writers = writers.intersection(await look(writersNow))
  }
  return ends
}
