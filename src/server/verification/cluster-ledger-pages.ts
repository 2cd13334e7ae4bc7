/** What a recomputation of a cluster's ledger reads of the database, all of it by indexes and a page at a time. */
import type { Selectable } from 'kysely'
import type { Db } from '../../db/db.ts'
import {
  sharedOwnerColumns,
  type HoldRow,
  type NodeHead,
  type SharedOwnerRow,
} from '../../db/postgres/ledger-rows.ts'
import { arrayText } from '../../db/postgres/sql-text.ts'
import { sql, type EntriesTable } from '../../db/schema/schema.ts'
import { decodeEvents } from '../../ledger/journal.ts'
import { sumOfDropped, type DroppedBills } from '../../ledger/verify.ts'
import { billOf, selectBills, type BillRow } from './verify-ledger.ts'

/** Of each node at once. */
const pageRows = 200
/** A statement takes 65,535 parameters. */
const billsAtOnce = 10_000

export interface CommitRow {
  readonly seq: number
  readonly body: string
  readonly prev: Uint8Array
  readonly hash: Uint8Array
  readonly node: string
  readonly number: number
}

/** In their order over all nodes. `isFull`: there are more. */
export interface Page {
  readonly commits: readonly CommitRow[]
  readonly isFull: boolean
}

/** What belongs to the commits of a page. */
export interface PageRows {
  readonly entries: ReadonlyMap<number, readonly Selectable<EntriesTable>[]>
  /** What the commits have charged, in nanos. */
  readonly charged: bigint
  readonly bills: readonly BillRow[]
  readonly dropped: DroppedBills
}

// Each next name by the index: there are few nodes, and commits without number.
const nodesText = `with recursive found (node) as (
    (select node from journal order by node limit 1)
    union all
    select (select journal.node from journal where journal.node > found.node order by journal.node limit 1)
      from found where found.node is not null)
  select node from found where node is not null`

/** The nodes that have ever committed. */
async function nodesOfJournal(db: Db): Promise<string[]> {
  const rows = await db.report<{ node: string }>({ sql: nodesText, parameters: [] })
  return rows.map(({ node }) => node)
}

export function ownersNow(db: Db): Promise<SharedOwnerRow[]> {
  return db.report({ sql: `select ${sharedOwnerColumns.join(', ')} from owners`, parameters: [] })
}

export function openHoldsNow(db: Db): Promise<HoldRow[]> {
  return db.report({ sql: 'select * from holds where retired_at is null', parameters: [] })
}

/** The ends of all chains. */
export async function headsNow(db: Db): Promise<Map<string, NodeHead>> {
  const rows = await db.report<NodeHead & { node: string }>({
    sql: `select head.* from unnest(?::text[]) as named (node)
      cross join lateral (select node, number, hash from journal
        where node = named.node collate "C" order by number desc limit 1) as head`,
    parameters: [arrayText(await nodesOfJournal(db))],
  })
  return new Map(rows.map(({ node, number, hash }) => [node, { number, hash }]))
}

/** Whether chains still have these ends, or go on from there: a failover may have lost what had been committed. */
export async function areThere(db: Db, heads: ReadonlyMap<string, NodeHead>): Promise<boolean> {
  const ends = [...heads.values()]
  const [row] = await db.report<{ there: number }>({
    sql: `select count(*) as there from unnest(?::text[], ?::bigint[], ?::text[]) as head (node, number, hash)
      join journal on journal.node = head.node collate "C" and journal.number = head.number
        and journal.hash = decode(head.hash, 'hex')`,
    parameters: [
      arrayText([...heads.keys()]),
      arrayText(ends.map(({ number }) => String(number))),
      arrayText(ends.map(({ hash }) => Buffer.from(hash).toString('hex'))),
    ],
  })
  return row?.there === heads.size
}

/**
 * The next commits of all nodes. A later snapshot may show commits between those that an earlier one
 * has shown, of nodes that were not done yet; so each node's are read after its own last one.
 */
export async function commitsAfter(db: Db, heads: ReadonlyMap<string, NodeHead>): Promise<Page> {
  const nodes = await nodesOfJournal(db)
  const numbers = nodes.map((node) => String(heads.get(node)?.number ?? 0))
  const rows = await db.report<CommitRow>({
    sql: `select page.* from unnest(?::text[], ?::bigint[]) as head (node, number)
        cross join lateral (select seq, body, prev, hash, node, number from journal
          where node = head.node collate "C" and number > head.number order by number limit ${pageRows}) as page`,
    parameters: [arrayText(nodes), arrayText(numbers)],
  })
  // Where a page was full, nothing after its end may be taken before the rest of that node's is read.
  const full = Array.from(Map.groupBy(rows, ({ node }) => node).values()).filter(
    (page) => page.length === pageRows,
  )
  const end = Math.min(Infinity, ...full.map((page) => Math.max(...page.map(({ seq }) => seq))))
  const commits = rows.filter(({ seq }) => seq <= end).toSorted((one, other) => one.seq - other.seq)
  return { commits, isFull: full.length > 0 }
}

async function billsOf(db: Db, ids: readonly string[]): Promise<BillRow[]> {
  return (await db.report(selectBills().where('request_id', 'in', ids))).map(billOf)
}

/** Throws `JournalUnreadable`. */
export async function rowsOf(db: Db, page: readonly CommitRow[]): Promise<PageRows> {
  const settled = page.flatMap(({ body }) => decodeEvents(body)).filter((event) => event.kind === 'settled')
  const billed = settled.filter(({ charge }) => charge !== 0n).map(({ id }) => id)
  const entries = await db.report<Selectable<EntriesTable>>({
    sql: 'select * from entries where seq = any(?::bigint[]) order by seq, id',
    parameters: [arrayText(page.map(({ seq }) => String(seq)))],
  })
  const bills: BillRow[] = []
  for (let start = 0; start < billed.length; start += billsAtOnce)
    bills.push(...(await billsOf(db, billed.slice(start, start + billsAtOnce))))
  const charged = settled.reduce((sum, { charge }) => sum + charge, 0n)
  const dropped = sumOfDropped(await db.report(sql.selectFrom('dropped_bills').selectAll()))
  return { entries: Map.groupBy(entries, ({ seq }) => seq), charged, bills, dropped }
}
