/**
 * The ledger of a cluster in PostgreSQL: a chain for each node, in the order in which their commits locked the rows they
 * touched. Everything is read by index and one page at a time.
 */
import type { Db } from '../../db/db.ts'
import { rollUpCursorSql } from '../../db/rollup-cursor.ts'
import { readHighWaterMarks, readLastIds, type HighWaterMarks } from '../../db/postgres/high-water-marks.ts'
import { sharedOwnerColumns, type HoldRow, type SharedOwnerRow } from '../../db/postgres/lock-batch.ts'
import { formatArray } from '../../db/postgres/sql-text.ts'
import { sql } from '../../db/schema/schema.ts'
import { openHold } from '../../ledger/apply.ts'
import { decodeHold } from '../../ledger/checkpoint.ts'
import { emptyState } from '../../ledger/state.ts'
import type { CommitRows } from '../../ledger/commit-rows.ts'
import { noDroppedBills, sumDroppedBills, type RowTotals } from '../../ledger/verify.ts'
import { ownerFromRow } from '../postgres/shared-rows.ts'
import {
  beforeFirstRows,
  billCellsSql,
  entryCellsSql,
  type ChainHead,
  type LedgerSource,
  type RestOfRows,
  type RowReader,
  type StoredCommit,
} from './ledger-source.ts'

/** Per node and page. */
const pageRows = 200

// Finds each next node by the index: there are few nodes, but countless commits.
const nodesText = `with recursive found (node) as (
    (select node from journal order by node limit 1)
    union all
    select (select journal.node from journal where journal.node > found.node order by journal.node limit 1)
      from found where found.node is not null)
  select node from found where node is not null`

/** All nodes that have committed. */
export async function readJournalNodes(db: Db): Promise<string[]> {
  const rows = await db.report<{ node: string }>({ sql: nodesText, parameters: [] })
  return rows.map(({ node }) => node)
}

async function readState(db: Db): Promise<{ owners: SharedOwnerRow[]; holds: HoldRow[] }> {
  const ownersText = `select ${sharedOwnerColumns.join(', ')} from owners`
  const owners = await db.report<SharedOwnerRow>({ sql: ownersText, parameters: [] })
  const holdsText = 'select * from holds where retired_at is null'
  return { owners, holds: await db.report<HoldRow>({ sql: holdsText, parameters: [] }) }
}

const entriesText = `select coalesce(json_agg(json_build_array(${entryCellsSql}) order by seq, id), '[]')::text as entries,
  count(*) filter (where id <= ?) as late from entries where seq = any(?::bigint[])`

const billsText = `select coalesce(json_agg(json_build_array(${billCellsSql}) order by position), '[]')::text as bills,
  coalesce(sum(cost_nanos) filter (where row_id <= ?), 0) as late_nanos
  from unnest(?::text[]) with ordinality as billed (id, position) join requests on request_id = billed.id`

/**
 * Finds the rows of commits by their keys, and other rows by their number and cost: it counts rows with higher numbers than
 * at the last comparison; rows with lower numbers, because they were committed late, are known from their commits.
 */
class PostgresRows implements RowReader {
  readonly #isFromFirstCommit: boolean
  #last: HighWaterMarks
  #deleted = noDroppedBills
  /** Rows of commits since the last comparison that have lower numbers. */
  #late: RowTotals = { entries: 0, cost: 0n }

  constructor(last: HighWaterMarks) {
    this.#last = last
    this.#isFromFirstCommit = last === beforeFirstRows
  }

  async read(db: Db, commits: readonly StoredCommit[], billed: readonly string[]): Promise<CommitRows> {
    const { entryId, rowId } = this.#last
    const [found] = await db.report<{ entries: string; late: number }>({
      sql: entriesText,
      parameters: [entryId, formatArray(commits.map(({ seq }) => String(seq)))],
    })
    const [paid] = await db.report<{ bills: string; late_nanos: bigint }>({
      sql: billsText,
      parameters: [rowId, formatArray(billed)],
    })
    // A replay with a later start has seen none of the deleted rows.
    if (this.#isFromFirstCommit)
      this.#deleted = sumDroppedBills(await db.report(sql.selectFrom('dropped_bills').selectAll()))
    const { entries: late, cost } = this.#late
    this.#late = { entries: late + (found?.late ?? 0), cost: cost + (paid?.late_nanos ?? 0n) }
    const [entries, bills] = [found?.entries ?? '[]', paid?.bills ?? '[]']
    return { entries, bills, deletedBills: this.#deleted.bills }
  }

  async readRest(db: Db): Promise<RestOfRows> {
    const { entryId, rowId } = this.#last
    const [found] = await db.report<{ entries: number; cost_nanos: bigint }>({
      sql: `select (select count(*) from entries where id > ?) as entries,
        (select coalesce(sum(cost_nanos), 0) from requests where row_id > ?) as cost_nanos`,
      parameters: [entryId, rowId],
    })
    this.#last = await readLastIds(db)
    const { entries, cost } = this.#late
    this.#late = { entries: 0, cost: 0n }
    const deleted = this.#isFromFirstCommit ? this.#deleted.cost : 0n
    return {
      totals: { entries: (found?.entries ?? 0) + entries, cost: (found?.cost_nanos ?? 0n) + cost + deleted },
    }
  }
}

export const postgresSource: LedgerSource = {
  readBeginning() {
    const rows = new PostgresRows(beforeFirstRows)
    return Promise.resolve({ state: emptyState(), dropped: noDroppedBills, heads: new Map(), rows })
  },
  async readPresent(db) {
    const state = emptyState()
    const { owners, holds } = await readState(db)
    for (const row of owners) state.owners.set(row.id, ownerFromRow(row))
    for (const row of holds) openHold(state, { kind: 'held', ...decodeHold(row.body, null) })
    const rows = new PostgresRows(await readLastIds(db))
    return { state, dropped: noDroppedBills, heads: await this.readHeads(db), rows }
  },
  async readHeads(db) {
    const rows = await db.report<ChainHead & { node: string }>({
      sql: `select head.* from unnest(?::text[]) as named (node)
        cross join lateral (select node, number, encode(hash, 'hex') as hash from journal
          where node = named.node collate "C" order by number desc limit 1) as head`,
      parameters: [formatArray(await readJournalNodes(db))],
    })
    return new Map(rows.map(({ node, number, hash }) => [node, { number, hash }]))
  },
  async containsHeads(db, heads) {
    const ends = [...heads.values()]
    const [row] = await db.report<{ there: number }>({
      sql: `select count(*) as there from unnest(?::text[], ?::bigint[], ?::text[]) as head (node, number, hash)
        join journal on journal.node = head.node collate "C" and journal.number = head.number
          and journal.hash = decode(head.hash, 'hex')`,
      parameters: [
        formatArray([...heads.keys()]),
        formatArray(ends.map(({ number }) => String(number))),
        formatArray(ends.map(({ hash }) => hash)),
      ],
    })
    return row?.there === heads.size
  },
  readHighWaterMarks: (read) => readHighWaterMarks({ read }),
  // Rows become visible out of order, but they are rolled up in order.
  async readLastSeenRow(db) {
    const [row] = await db.report<{ position: number }>({ sql: rollUpCursorSql, parameters: [] })
    return row?.position ?? 0
  },
  /**
   * A later snapshot may show commits between those of an earlier one, from nodes that had not finished; so each node's
   * commits are read after its own last one.
   */
  async readCommits(db, heads) {
    const nodes = await readJournalNodes(db)
    const numbers = nodes.map((node) => String(heads.get(node)?.number ?? 0))
    const rows = await db.report<StoredCommit>({
      sql: `select page.* from unnest(?::text[], ?::bigint[]) as head (node, number)
        cross join lateral (select seq, node, number, body, encode(prev, 'hex') as prev, encode(hash, 'hex') as hash,
          null as holds from journal
          where node = head.node collate "C" and number > head.number order by number limit ${pageRows}) as page`,
      parameters: [formatArray(nodes), formatArray(numbers)],
    })
    // If a page is full, nothing after its end may be applied before the rest of that node is read.
    const full = Array.from(Map.groupBy(rows, ({ node }) => node).values()).filter(
      (page) => page.length === pageRows,
    )
    const end = Math.min(Infinity, ...full.map((page) => Math.max(...page.map(({ seq }) => seq))))
    const commits = rows.filter(({ seq }) => seq <= end).toSorted((one, other) => one.seq - other.seq)
    return { commits, isFull: full.length > 0 }
  },
  describeBreak: ({ node, number }) =>
    `The journal of ${node === '' ? 'the single relay before the cluster' : `node ${node}`} is broken at its commit ${number}: its hash does not follow from the previous commit.`,
  readState,
}
