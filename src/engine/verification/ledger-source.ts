/** What the verification needs of a store. Only the SQL that reads its rows differs between SQLite and PostgreSQL. */
import type { Db } from '../../db/db.ts'
import type { HoldRow, SharedOwnerRow } from '../../db/postgres/lock-batch.ts'
import type { EntryRow } from '../../db/ledger-commit.ts'
import type { OwnersTable } from '../../db/schema/schema.ts'
import type { Statement } from '../../db/statement.ts'
import type { LedgerEvent, Settled } from '../../ledger/events.ts'
import type { LedgerState } from '../../ledger/state.ts'

/** Reads one snapshot of the database; `read` may be called again if a snapshot was lost. */
export type ReadSnapshot = <Result>(read: (db: Db) => Promise<Result>) => Promise<Result>

/** Snapshots over one connection, one after the other. */
export interface SnapshotConnection extends AsyncDisposable {
  readonly read: ReadSnapshot
}

/** Hashes are hexadecimal here: creating a text costs a fraction of creating a buffer. */
export interface ChainHead {
  readonly number: number
  readonly hash: string
}

/** The heads of all chains by node. A single relay has one chain, of no node (null). */
export type ChainHeads = ReadonlyMap<string | null, ChainHead>

export interface StoredCommit {
  readonly seq: number
  readonly node: string | null
  readonly number: number
  readonly body: string
  /** The hash of the previous commit and its own, one after the other: one text is read in half the time of two. */
  readonly link: string
}

/** Commits in their order over all chains. `isFull`: there are more. */
export interface CommitPage {
  readonly commits: readonly StoredCommit[]
  /** The open holds after those commits that made a checkpoint. */
  readonly holds: ReadonlyMap<number, string>
  readonly isFull: boolean
}

/** The ids of the last entry and the last request row that were read. */
export interface RowMarks {
  readonly entryId: number
  readonly rowId: number
}

/** Before and after every row, whatever its id. */
export const beforeFirstRow: number = Number.MIN_SAFE_INTEGER
export const afterLastRow: number = Number.MAX_SAFE_INTEGER

/** Where a verification starts: in this state, with the commits after these heads and the rows after these ids. */
export interface StartingPoint {
  readonly state: LedgerState
  readonly heads: ChainHeads
  readonly marks: RowMarks
}

/** The present state according to the rows. A single relay stores neither held amounts nor holds. */
export interface StoredState {
  readonly owners: readonly (OwnersTable | SharedOwnerRow)[]
  readonly holds: readonly HoldRow[] | null
}

export interface LedgerSource {
  /** Whether request rows are deleted in the order of their commits, so that deleted ones belong to the first bills. */
  readonly deletesInOrder: boolean
  /** The state after the last commit, according to the rows. */
  readPresent(db: Db): Promise<LedgerState>
  readHeads(db: Db): Promise<ChainHeads>
  /** Whether the chains still contain these heads: a failover may have lost commits, which is no tampering. */
  containsHeads(db: Db, heads: ChainHeads): Promise<boolean>
  /** Reads ids up to which every later snapshot sees the same entries and no additional request rows. */
  readSettledMarks(read: ReadSnapshot): Promise<RowMarks>
  readCommits(db: Db, heads: ChainHeads): Promise<CommitPage>
  /** Selects the entries of commits, and the request rows with these ids. */
  selectRows(
    seqs: readonly number[],
    ids: readonly string[],
    position: RowPosition,
  ): { readonly entries: Statement; readonly bills: Statement }
  readState(db: Db): Promise<StoredState>
}

/** The last rows of the last comparison, and the id of the last entry that was read since then. */
export interface RowPosition extends RowMarks {
  readonly lastEntry: number
}

/** `late`: rows with ids up to the marks, which were committed after others with higher ids. */
interface SelectedRows {
  readonly cells: string
  readonly late: number
  readonly late_nanos: bigint
}

export interface EntriesOfCommits extends SelectedRows {
  readonly last: number | null
}

export interface BillsOfCommits extends SelectedRows {
  readonly found: number
}

/** Reads the last visible ids; 0 if there are none. */
export async function readLastIds(db: Db): Promise<RowMarks> {
  const [row] = await db.report<{ entry_id: number; row_id: number }>({
    sql: `select (select coalesce(max(id), 0) from entries) as entry_id,
      (select coalesce(max(row_id), 0) from requests) as row_id`,
    parameters: [],
  })
  return { entryId: row?.entry_id ?? 0, rowId: row?.row_id ?? 0 }
}

/** Cells that `entryCells` and `billCells` compute from the journal; amounts are text, which JSON keeps exact. */
export const entryCellsSql = `seq, at, debit, credit, cast(amount_nanos as text), kind, coalesce(account_id, ''),
  coalesce(ref, ''), reason, source`
export const billCellsSql = `request_id, cast(cost_nanos as text), prompt_tokens, cached_tokens, completion_tokens,
  reasoning_tokens`

/** An entry with the number of its commit. */
export interface CommittedEntry {
  readonly seq: number
  readonly entry: EntryRow
}

/** The rows that belong to some commits: JSON arrays of the cells of `entryCells` and `billCells`. */
export interface CommitRows {
  readonly entries: string
  readonly bills: string
  /** How many request rows with a cost have been deleted for their age so far; 0 if none of these commits lacks one. */
  readonly deletedBills: number
}

/** The money columns of a request's row. */
export interface StoredBill {
  readonly id: string
  readonly cost: bigint
  readonly input: number
  readonly cachedInput: number
  readonly output: number
  readonly reasoning: number
}

/** Whether a request row must have the costs of this event. */
export function hasBill(event: LedgerEvent): event is Settled {
  return event.kind === 'settled' && event.charge > 0n
}

/** A settlement in a journal row, up to the first digit of a charge: see ledger/journal.ts for the format. */
const billed = /\["s",("(?:[^"\\]|\\.)*")(?:,(?:[^",]+|"(?:[^"\\]|\\.)*")){7},"[1-9]/g

/** Adds the ids of the requests whose events have bills, found in a fraction of the time of decoding all events. */
export function addBilledIds(ids: string[], body: string): void {
  if (!body.includes('["s",')) return
  for (const [, id = '""'] of body.matchAll(billed)) ids.push(JSON.parse(id) as string)
}

export function billOf({
  id,
  charge,
  usage: { input, cachedInput, output, reasoning },
}: Settled): StoredBill {
  return { id, cost: charge, input, cachedInput, output, reasoning }
}

type Cell = string | number | null

export function entryCells({ seq, entry }: CommittedEntry): Cell[] {
  const { at, debit, credit, amount_nanos: amount, kind, account_id: account, ref, reason, source } = entry
  return [seq, at, debit, credit, String(amount), kind, account, ref, reason, source]
}

export function parseEntries(text: string): CommittedEntry[] {
  const rows = JSON.parse(text) as [seq: number, at: number, ...texts: string[]][]
  return rows.map(([seq, at, debit = '', credit = '', amount = '', kind = '', account = '', ...texts]) => {
    const [ref = '', reason = null, source = null] = texts
    const about = { kind, account_id: account, ref, reason, source }
    return { seq, entry: { at, debit, credit, amount_nanos: BigInt(amount), ...about } }
  })
}

export function billCells({ id, cost, input, cachedInput, output, reasoning }: StoredBill): Cell[] {
  return [id, String(cost), input, cachedInput, output, reasoning]
}

export function parseBills(text: string): StoredBill[] {
  const rows = JSON.parse(text) as [id: string, cost: string, ...tokens: [number, number, number, number]][]
  return rows.map(([id, cost, input, cachedInput, output, reasoning]) => {
    return { id, cost: BigInt(cost), input, cachedInput, output, reasoning }
  })
}
