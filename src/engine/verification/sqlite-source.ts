/** The ledger in a SQLite file: one chain, whose entries and request rows were written in its order. */
import { compileQuery, type Db, type Query } from '../../db/db.ts'
import { readLastIds, type HighWaterMarks } from '../../db/postgres/high-water-marks.ts'
import { JournalChainError, readLedger } from '../../db/read-ledger.ts'
import { sql } from '../../db/schema/schema.ts'
import { cacheKiB, openReader } from '../../db/sqlite/connection.ts'
import { emptyState } from '../../ledger/state.ts'
import type { CommitRows } from '../../ledger/commit-rows.ts'
import { noDroppedBills, sumDroppedBills } from '../../ledger/verify.ts'
import { recoverState } from '../sqlite/recovery.ts'
import {
  beforeFirstRows,
  billCellsSql,
  entryCellsSql,
  type ChainHead,
  type LedgerSource,
  type RestOfRows,
  type RowReader,
  type SnapshotConnection,
  type StoredCommit,
} from './ledger-source.ts'

const pageCommits = 500
const node = ''

/** Snapshots that are independent of concurrent writes. */
export function openSqliteSnapshots(path: string): SnapshotConnection {
  const connection = openReader(path, cacheKiB.readOnce)
  const rowsOf = async <Result>(query: Query<Result>): Promise<Result[]> =>
    // STRICT tables and the integer rule of db/sqlite/connection.ts make the query's type true.
    connection.run(compileQuery(query)).rows as Result[]
  const db: Db = {
    all: rowsOf,
    report: rowsOf,
    first: async (query) => (await rowsOf(query))[0],
    write: () => Promise.reject(new Error('A snapshot is read-only.')),
  }
  return {
    async read(read) {
      connection.database.exec('begin')
      try {
        return await read(db)
      } finally {
        connection.database.exec('rollback')
      }
    },
    close: () => Promise.resolve(connection.close()),
  }
}

/** Entries were written in the order of the commits, so those of a page end before the first one of a later commit. */
const lastEntryText = `select coalesce((select id - 1 from entries where id > ? and seq > ? order by id limit 1),
  ${Number.MAX_SAFE_INTEGER}) as last`
const entriesText = `select json_group_array(json_array(${entryCellsSql})) as cells, max(id) as last
  from (select * from entries where id > ? and id <= ? order by id limit ?)`
const billsText = `select json_group_array(json_array(${billCellsSql})) as cells, max(row_id) as last
  from (select * from requests where row_id > ? and cost_nanos <> 0 order by row_id limit ?)`

interface Cells {
  readonly cells: string
  readonly last: number | null
}

/** How many rows without a commit are read; the first of them are enough to report. */
const maxRestRows = 10_000
const noLimit = -1

class SqliteRows implements RowReader {
  #last: HighWaterMarks

  constructor(last: HighWaterMarks) {
    this.#last = last
  }

  read(db: Db, commits: readonly StoredCommit[], billed: readonly string[]): Promise<CommitRows> {
    return this.#next(db, commits.at(-1)?.seq ?? 0, { entries: noLimit, bills: billed.length })
  }

  async readRest(db: Db): Promise<RestOfRows> {
    const limits = { entries: maxRestRows, bills: maxRestRows }
    return { rows: await this.#next(db, Number.MAX_SAFE_INTEGER, limits) }
  }

  async #next(
    db: Db,
    lastSeq: number,
    limits: { readonly entries: number; readonly bills: number },
  ): Promise<CommitRows> {
    const { entryId, rowId } = this.#last
    const read = async (text: string, parameters: number[]): Promise<Cells> =>
      (await db.report<Cells>({ sql: text, parameters }))[0] ?? { cells: '[]', last: null }
    const { last } = await read(lastEntryText, [entryId, lastSeq])
    const entries = await read(entriesText, [entryId, last ?? entryId, limits.entries])
    const bills = await read(billsText, [rowId, limits.bills])
    this.#last = { entryId: entries.last ?? entryId, rowId: bills.last ?? rowId }
    return { entries: entries.cells, bills: bills.cells, deletedBills: 0 }
  }
}

const commitsText = `select seq, body, lower(hex(prev)) as prev, lower(hex(hash)) as hash
  from journal where seq > ? order by seq limit ${pageCommits}`
const holdsText = 'select seq, holds from checkpoints where seq > ? and seq <= ?'

async function readHead(db: Db): Promise<ChainHead | undefined> {
  const text = 'select seq as number, lower(hex(hash)) as hash from journal order by seq desc limit 1'
  return db.first({ sql: text, parameters: [] })
}

export const sqliteSource: LedgerSource = {
  async readBeginning(db) {
    const dropped = sumDroppedBills(await db.report(sql.selectFrom('dropped_bills').selectAll()))
    return { state: emptyState(), dropped, heads: new Map(), rows: new SqliteRows(beforeFirstRows) }
  },
  async readPresent(db) {
    const state = await recoverState(db, await readLedger(db))
    const rows = new SqliteRows(await readLastIds(db))
    return { state, dropped: noDroppedBills, heads: await this.readHeads(db), rows }
  },
  async readHeads(db) {
    const head = await readHead(db)
    return new Map(head === undefined ? [] : [[node, head]])
  },
  // There is no failover: if a commit is gone, what followed from it must be found to differ.
  containsHeads: () => Promise.resolve(true),
  readHighWaterMarks: (read) => read(readLastIds),
  readLastSeenRow: async (db) => (await readLastIds(db)).rowId,
  async readCommits(db, heads) {
    const last = heads.get(node)?.number ?? 0
    const rows = await db.report<Omit<StoredCommit, 'node' | 'number' | 'holds'>>({
      sql: commitsText,
      parameters: [last],
    })
    const checkpoints = await db.report<{ seq: number; holds: string }>({
      sql: holdsText,
      parameters: [last, rows.at(-1)?.seq ?? last],
    })
    const holdsAt = new Map(checkpoints.map(({ seq, holds }) => [seq, holds]))
    const commits = rows.map(({ seq, body, prev, hash }) => {
      return { seq, node, number: seq, body, prev, hash, holds: holdsAt.get(seq) ?? null }
    })
    return { commits, isFull: commits.length === pageCommits }
  },
  describeBreak: ({ number }) => new JournalChainError(number).message,
  readState: async (db) => ({ owners: await db.report(sql.selectFrom('owners').selectAll()) }),
}
