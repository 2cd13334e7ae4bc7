/**
 * What a cluster's ledger was before somebody began to follow it: gone through in steps of some milliseconds with longer
 * rests between them, each step in a moment of its own, so that nobody waits behind it and no snapshot grows old.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Db } from '../../db/db.ts'
import { settledEnds, type Ends } from '../../db/postgres/high-water-marks.ts'
import type { LedgerVerdict } from '../../http/house.ts'
import { Recomputation } from '../../ledger/verify.ts'
import {
  addCosts,
  addEntries,
  compareSums,
  costsBetween,
  droppedUpTo,
  entrySums,
  pastGap,
  requestSums,
  restTimes,
  type EntrySums,
  type Snapshots,
  type Sums,
} from '../verification/table-sums.ts'
import { areThere, headsNow, ownersNow } from '../verification/cluster-ledger-pages.ts'
import { ClusterReading } from '../verification/verify-cluster.ts'

/** null: it has come to nothing, for what it had read was gone, and is to begin anew. */
export type Pass = (look: Snapshots) => Promise<LedgerVerdict | null>

const highest = Number.MAX_SAFE_INTEGER
/** Numbers of an index, a few milliseconds of them. */
const countedAtOnce = 20_000

interface AllSums {
  readonly entries: EntrySums
  readonly costs: Sums
}

/** Adds what has come after these ends, and compares all with the balances of the same moment. */
async function compareNow(db: Db, ends: Ends, { entries, costs }: AllSums): Promise<LedgerVerdict | null> {
  // Rows went that were not added up one by one.
  if ((await droppedUpTo(db)) > ends.rowId) return null
  const owners = await ownersNow(db)
  const all: EntrySums = { books: new Map(entries.books), charges: new Map(entries.charges) }
  await addEntries(all, (read) => read(db), [ends.entryId, highest])
  const allCosts: Sums = new Map(costs)
  addCosts(allCosts, await costsBetween(db, ends.rowId, highest))
  const findings = new Recomputation()
  compareSums(owners, all, allCosts, (words, drift) => findings.find(words, drift))
  return findings.verdict([])
}

/**
 * The sums of all entries and all request rows, by account, against the balances and each other. Sums up to settled ends
 * stay: entries are never taken away, and what a request row had come to is counted when it goes.
 */
export const sumUpAll: Pass = async (look) => {
  const ends = await settledEnds({ look })
  const heads = await look(headsNow)
  const entries = await entrySums(look, ends.entryId)
  const costs = await requestSums(look, ends.rowId)
  return look(async (db) => ((await areThere(db, heads)) ? compareNow(db, ends, { entries, costs }) : null))
}

async function countEntries(db: Db, after: number, last: number): Promise<number> {
  const [row] = await db.report<{ entries: number }>({
    sql: 'select count(*) as entries from entries where id > ? and id <= ?',
    parameters: [after, last],
  })
  return row?.entries ?? 0
}

interface Counted {
  readonly entries: number
  readonly last: number
}

/** Counts the next entries, up to this one at most. */
async function countOn(db: Db, { entries, last }: Counted, most: number): Promise<Counted> {
  const end = Math.min(most, Math.max(last, 0) + countedAtOnce)
  const more = await countEntries(db, last, end)
  if (more > 0) return { entries: entries + more, last: end }
  return { entries, last: await pastGap(db, { table: 'entries', key: 'id' }, [end, most]) }
}

/**
 * All of the journal from its first commit, with the entries and the bills of each, as `sluice verify` does it. What has
 * come since this began is read without rests, or it might never come to an end.
 */
export const recomputeAll: Pass = async (look) => {
  const { entryId } = await settledEnds({ look })
  const heads = await look(headsNow)
  const reading = new ClusterReading()
  let counted: Counted = { entries: 0, last: Number.MIN_SAFE_INTEGER }
  for (let isMore = true; isMore;) {
    const startedAt = performance.now()
    isMore = await look((db) => reading.readPage(db))
    counted = await look((db) => countOn(db, counted, entryId))
    isMore ||= counted.last < entryId
    if (isMore && !reading.hasReached(heads)) await delay((performance.now() - startedAt) * restTimes)
  }
  return look(async (db) => {
    if (!(await reading.isThere(db))) return null
    await reading.read(db)
    const entries = counted.entries + (await countEntries(db, entryId, highest))
    if (entries !== reading.entries)
      reading.find(`there are ${entries} entries, the journal gives ${reading.entries}`)
    return reading.verdict(db)
  })
}
