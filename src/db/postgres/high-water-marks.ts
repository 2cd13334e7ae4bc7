/**
 * High-water marks: ids up to which no row is missing. Ids are assigned on insert but become visible on commit, so a row
 * may appear after others with higher ids. This waits for the writing transactions and blocks none: a transaction holds
 * its table lock from before it assigns an id until it is visible.
 */

import { setTimeout as delay } from 'node:timers/promises'
import type { Db } from '../db.ts'
import type { Snapshots } from './snapshot.ts'

export interface HighWaterMarks {
  readonly entryId: number
  readonly rowId: number
}

const pollMs = 20

const writersText = `select virtualtransaction as writer from pg_locks
  where locktype = 'relation' and mode = 'RowExclusiveLock' and granted
    and database = (select oid from pg_database where datname = current_database())
    and relation in ('entries'::regclass, 'requests'::regclass)`

async function readWriters(db: Db): Promise<Set<string>> {
  const rows = await db.report<{ writer: string }>({ sql: writersText, parameters: [] })
  return new Set(rows.map(({ writer }) => writer))
}

/** Reads the last visible ids of entries and of request rows; 0 if there are none. */
export async function readLastIds(db: Db): Promise<HighWaterMarks> {
  const [row] = await db.report<{ entry_id: number; row_id: number }>({
    sql: `select (select coalesce(max(id), 0) from entries) as entry_id,
      (select coalesce(max(row_id), 0) from requests) as row_id`,
    parameters: [],
  })
  return { entryId: row?.entry_id ?? 0, rowId: row?.row_id ?? 0 }
}

/** Reads ids up to which every later snapshot sees the same entries and no additional request rows. */
export async function readHighWaterMarks(snapshots: Snapshots): Promise<HighWaterMarks> {
  const ends = await snapshots.read(readLastIds)
  // Read after the ids: transactions that are not among these writers are already visible.
  let writers = await snapshots.read(readWriters)
  while (writers.size > 0) {
    await delay(pollMs)
    writers = writers.intersection(await snapshots.read(readWriters))
  }
  return ends
}
