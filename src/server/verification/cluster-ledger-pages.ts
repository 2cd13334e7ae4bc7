/** What the verification of a cluster's ledger reads from the database, by index and one page at a time. */
import type { Selectable } from 'kysely'
import type { Db } from '../../db/db.ts'
import {
  sharedOwnerColumns,
  type HoldRow,
  type NodeChainHead,
  type SharedOwnerRow,
} from '../../db/postgres/lock-batch.ts'
import { formatArray } from '../../db/postgres/sql-text.ts'
import { sql, type EntriesTable } from '../../db/schema/schema.ts'
import { decodeEvents } from '../../ledger/journal.ts'
import { sumDroppedBills, type DroppedBills } from '../../ledger/verify.ts'
import { toBill, selectBillRows, type BillRow } from './verify-ledger.ts'

/** Per node and page. */
const pageRows = 200
/** A statement has at most 65,535 parameters. */
const maxBillsPerQuery = 10_000

export interface CommitRow {
  readonly seq: number
  readonly body: string
  readonly prev: Uint8Array
  readonly hash: Uint8Array
  readonly node: string
  readonly number: number
}

/** Commits in their order over all nodes. `isFull`: there are more. */
export interface CommitPage {
  readonly commits: readonly CommitRow[]
  readonly isFull: boolean
}

/** The rows that belong to the commits of a page. */
export interface CommitPageRows {
  readonly entries: ReadonlyMap<number, readonly Selectable<EntriesTable>[]>
  /** The sum of the charges, in nanos. */
  readonly charged: bigint
  readonly bills: readonly BillRow[]
  readonly dropped: DroppedBills
}

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

export function readOwners(db: Db): Promise<SharedOwnerRow[]> {
  return db.report({ sql: `select ${sharedOwnerColumns.join(', ')} from owners`, parameters: [] })
}

export function readOpenHolds(db: Db): Promise<HoldRow[]> {
  return db.report({ sql: 'select * from holds where retired_at is null', parameters: [] })
}

/** The heads of all chains. */
export async function readHeads(db: Db): Promise<Map<string, NodeChainHead>> {
  const rows = await db.report<NodeChainHead & { node: string }>({
    sql: `select head.* from unnest(?::text[]) as named (node)
      cross join lateral (select node, number, hash from journal
        where node = named.node collate "C" order by number desc limit 1) as head`,
    parameters: [formatArray(await readJournalNodes(db))],
  })
  return new Map(rows.map(({ node, number, hash }) => [node, { number, hash }]))
}

/** Whether the chains still contain these heads: a failover may have lost commits. */
export async function containsHeads(db: Db, heads: ReadonlyMap<string, NodeChainHead>): Promise<boolean> {
  const ends = [...heads.values()]
  const [row] = await db.report<{ there: number }>({
    sql: `select count(*) as there from unnest(?::text[], ?::bigint[], ?::text[]) as head (node, number, hash)
      join journal on journal.node = head.node collate "C" and journal.number = head.number
        and journal.hash = decode(head.hash, 'hex')`,
    parameters: [
      formatArray([...heads.keys()]),
      formatArray(ends.map(({ number }) => String(number))),
      formatArray(ends.map(({ hash }) => Buffer.from(hash).toString('hex'))),
    ],
  })
  return row?.there === heads.size
}

/**
 * The next commits of all nodes. A later snapshot may show commits between those of an earlier one, from nodes that had not
 * finished; so each node's commits are read after its own last one.
 */
export async function readCommitsAfter(
  db: Db,
  heads: ReadonlyMap<string, NodeChainHead>,
): Promise<CommitPage> {
  const nodes = await readJournalNodes(db)
  const numbers = nodes.map((node) => String(heads.get(node)?.number ?? 0))
  const rows = await db.report<CommitRow>({
    sql: `select page.* from unnest(?::text[], ?::bigint[]) as head (node, number)
        cross join lateral (select seq, body, prev, hash, node, number from journal
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
}

async function readBills(db: Db, ids: readonly string[]): Promise<BillRow[]> {
  return (await db.report(selectBillRows().where('request_id', 'in', ids))).map(toBill)
}

/** Throws `JournalFormatError`. */
export async function readRowsOf(db: Db, page: readonly CommitRow[]): Promise<CommitPageRows> {
  const settled = page.flatMap(({ body }) => decodeEvents(body)).filter((event) => event.kind === 'settled')
  const billed = settled.filter(({ charge }) => charge !== 0n).map(({ id }) => id)
  const entries = await db.report<Selectable<EntriesTable>>({
    sql: 'select * from entries where seq = any(?::bigint[]) order by seq, id',
    parameters: [formatArray(page.map(({ seq }) => String(seq)))],
  })
  const bills: BillRow[] = []
  for (let start = 0; start < billed.length; start += maxBillsPerQuery)
    bills.push(...(await readBills(db, billed.slice(start, start + maxBillsPerQuery))))
  const charged = settled.reduce((sum, { charge }) => sum + charge, 0n)
  const dropped = sumDroppedBills(await db.report(sql.selectFrom('dropped_bills').selectAll()))
  return { entries: Map.groupBy(entries, ({ seq }) => seq), charged, bills, dropped }
}
