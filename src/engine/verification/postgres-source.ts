/**
 * The ledger of a cluster in PostgreSQL: a chain for each node, in the order in which their commits locked the rows they
 * touched. Everything is read by index and one page at a time.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Db } from '../../db/db.ts'
import { sharedOwnerColumns, type HoldRow, type SharedOwnerRow } from '../../db/postgres/lock-batch.ts'
import { formatArray } from '../../db/postgres/sql-text.ts'
import { openHold } from '../../ledger/apply.ts'
import { decodeHold } from '../../ledger/checkpoint.ts'
import { emptyState } from '../../ledger/state.ts'
import { ownerFromRow } from '../postgres/shared-rows.ts'
import {
  billCellsSql,
  entryCellsSql,
  readLastIds,
  type ChainHead,
  type LedgerSource,
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

const entriesText = `select coalesce(json_agg(json_build_array(${entryCellsSql}) order by seq, id), '[]')::text as cells,
    max(id) as last, count(*) filter (where id <= ?) as late,
    coalesce(sum(amount_nanos) filter (where id <= ?), 0) as late_nanos
  from entries where seq = any(?::bigint[])`

const billsText = `select coalesce(json_agg(json_build_array(${billCellsSql}) order by position), '[]')::text as cells,
    count(*) as found, count(nullif(cost_nanos, 0)) filter (where row_id <= ?) as late,
    coalesce(sum(cost_nanos) filter (where row_id <= ?), 0) as late_nanos
  from unnest(?::text[]) with ordinality as billed (id, position) join requests on request_id = billed.id`

const writersText = `select virtualtransaction as writer from pg_locks
  where locktype = 'relation' and mode = 'RowExclusiveLock' and granted
    and database = (select oid from pg_database where datname = current_database())
    and relation in ('entries'::regclass, 'requests'::regclass)`

async function readWriters(db: Db): Promise<Set<string>> {
  const rows = await db.report<{ writer: string }>({ sql: writersText, parameters: [] })
  return new Set(rows.map(({ writer }) => writer))
}

const pollMs = 20

/** A cluster stores its open holds as rows instead. */
const noCheckpoints: ReadonlyMap<number, string> = new Map()

/** Numbers as an array parameter. */
const formatNumbers = (numbers: readonly number[]): string => formatArray(numbers.map(String))

export const postgresSource: LedgerSource = {
  // Nodes delete them in the order of the rows, which may differ slightly for concurrent commits.
  deletesInOrder: false,
  async readPresent(db) {
    const state = emptyState()
    const { owners, holds } = await readState(db)
    for (const row of owners) state.owners.set(row.id, ownerFromRow(row))
    for (const row of holds) openHold(state, { kind: 'held', ...decodeHold(row.body, null) })
    return state
  },
  async readHeads(db) {
    const rows = await db.report<ChainHead & { node: string }>({
      sql: `select head.* from unnest(?::text[]) as named (node)
        cross join lateral (select node, number, encode(hash, 'hex') as hash from journal
          where node = named.node collate "C" order by number desc limit 1) as head`,
      parameters: [formatArray(await readJournalNodes(db))],
    })
    return new Map(rows.map(({ node, ...head }) => [node, head]))
  },
  async containsHeads(db, heads) {
    const ends = [...heads.values()]
    const [row] = await db.report<{ there: number }>({
      sql: `select count(*) as there from unnest(?::text[], ?::bigint[], ?::text[]) as head (node, number, hash)
        join journal on journal.node = head.node collate "C" and journal.number = head.number
          and journal.hash = decode(head.hash, 'hex')`,
      parameters: [
        formatArray(Array.from(heads.keys(), String)),
        formatNumbers(ends.map(({ number }) => number)),
        formatArray(ends.map(({ hash }) => hash)),
      ],
    })
    return row?.there === heads.size
  },
  /**
   * Ids are assigned on insert but become visible on commit, so a row may appear after others with higher ids. This waits
   * for the writing transactions and blocks none: a transaction holds its table lock from before it assigns an id until it
   * is visible.
   */
  async readSettledMarks(read) {
    const marks = await read(readLastIds)
    // Read after the ids: transactions that are not among these writers are already visible.
    let writers = await read(readWriters)
    while (writers.size > 0) {
      await delay(pollMs)
      writers = writers.intersection(await read(readWriters))
    }
    return marks
  },
  /**
   * A later snapshot may show commits between those of an earlier one, from nodes that had not finished; so each node's
   * commits are read after its own last one.
   */
  async readCommits(db, heads) {
    const nodes = await readJournalNodes(db)
    const numbers = nodes.map((node) => heads.get(node)?.number ?? 0)
    const rows = await db.report<StoredCommit>({
      sql: `select page.* from unnest(?::text[], ?::bigint[]) as head (node, number)
        cross join lateral (select seq, node, number, body, encode(prev || hash, 'hex') as link from journal
          where node = head.node collate "C" and number > head.number order by number limit ${pageRows}) as page`,
      parameters: [formatArray(nodes), formatNumbers(numbers)],
    })
    // If a page is full, nothing after its end may be applied before the rest of that node is read.
    const full = Array.from(Map.groupBy(rows, ({ node }) => node).values()).filter(
      (page) => page.length === pageRows,
    )
    const end = Math.min(Infinity, ...full.map((page) => Math.max(...page.map(({ seq }) => seq))))
    const commits = rows.filter(({ seq }) => seq <= end).toSorted((one, other) => one.seq - other.seq)
    return { commits, holds: noCheckpoints, isFull: full.length > 0 }
  },
  selectRows: (seqs, ids, { entryId, rowId }) => ({
    entries: { sql: entriesText, parameters: [entryId, entryId, formatNumbers(seqs)] },
    bills: { sql: billsText, parameters: [rowId, rowId, formatArray(ids)] },
  }),
  readState,
}
