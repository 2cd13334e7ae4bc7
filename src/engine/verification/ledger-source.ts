/** What the verification needs of a store. Only reading its rows differs between SQLite and PostgreSQL. */
import type { Selectable } from 'kysely'
import type { Db } from '../../db/db.ts'
import type { HighWaterMarks } from '../../db/postgres/high-water-marks.ts'
import type { HoldRow, SharedOwnerRow } from '../../db/postgres/lock-batch.ts'
import type { EntriesTable, OwnersTable } from '../../db/schema/schema.ts'
import type { Transfer } from '../../ledger/entries.ts'
import type { LedgerState } from '../../ledger/state.ts'
import type { CommitRows } from '../../ledger/commit-rows.ts'
import type { DroppedBills, RowTotals } from '../../ledger/verify.ts'

/** Reads one snapshot of the database; `read` may be called again if a snapshot was lost. */
export type ReadSnapshot = <Result>(read: (db: Db) => Promise<Result>) => Promise<Result>

/** Snapshots over one connection, one after the other. */
export interface SnapshotConnection {
  readonly read: ReadSnapshot
  close(): Promise<void>
}

/** Hashes are hexadecimal here: creating a text costs a fraction of creating a buffer. */
export interface ChainHead {
  readonly number: number
  readonly hash: string
}

/** The heads of all chains by node. A single relay has one chain, of no node. */
export type ChainHeads = ReadonlyMap<string, ChainHead>

export interface StoredCommit extends ChainHead {
  readonly seq: number
  readonly node: string
  readonly body: string
  readonly prev: string
  /** The open holds after this commit, if it made a checkpoint. */
  readonly holds: string | null
}

/** Commits in their order over all chains. `isFull`: there are more. */
export interface CommitPage {
  readonly commits: readonly StoredCommit[]
  readonly isFull: boolean
}

/** Rows that belong to no commit: themselves, or the totals of all rows since the last call. */
export type RestOfRows = { readonly rows: CommitRows } | { readonly totals: RowTotals }

/** Remembers up to which rows it has read. A failed read changes nothing and can be repeated. */
export interface RowReader {
  /** `billed`: the ids of the requests that must have a row. */
  read(db: Db, commits: readonly StoredCommit[], billed: readonly string[]): Promise<CommitRows>
  /** After all commits were read. */
  readRest(db: Db): Promise<RestOfRows>
}

/** Where a verification starts: after these heads, in this state, with the rows that follow. */
export interface StartingPoint {
  readonly state: LedgerState
  /** The first bills, whose request rows were deleted. */
  readonly dropped: DroppedBills
  readonly heads: ChainHeads
  readonly rows: RowReader
}

/** The present state according to the rows. A single relay stores neither held amounts nor holds. */
export type StoredState =
  | { readonly owners: readonly OwnersTable[] }
  | { readonly owners: readonly SharedOwnerRow[]; readonly holds: readonly HoldRow[] }

export interface LedgerSource {
  /** Before the first commit. */
  readBeginning(db: Db): Promise<StartingPoint>
  /** After the last commit, in the state according to the rows. */
  readPresent(db: Db): Promise<StartingPoint>
  readHeads(db: Db): Promise<ChainHeads>
  /** Whether the chains still contain these heads: a failover may have lost commits, which is no tampering. */
  containsHeads(db: Db, heads: ChainHeads): Promise<boolean>
  /** Reads ids up to which every later snapshot sees the same entries and no additional request rows. */
  readHighWaterMarks(read: ReadSnapshot): Promise<HighWaterMarks>
  /** Reads the id up to which this snapshot sees all request rows. */
  readLastSeenRow(db: Db): Promise<number>
  readCommits(db: Db, heads: ChainHeads): Promise<CommitPage>
  describeBreak(commit: StoredCommit): string
  readState(db: Db): Promise<StoredState>
}

/** Before every row, whatever its number. */
export const beforeFirstRows: HighWaterMarks = {
  entryId: Number.MIN_SAFE_INTEGER,
  rowId: Number.MIN_SAFE_INTEGER,
}

/** The cells of `CommitRows`; amounts are text, which JSON keeps exact. */
export const entryCellsSql = `seq, at, debit, credit, cast(amount_nanos as text), kind, coalesce(account_id, ''),
  coalesce(ref, ''), reason, source`
export const billCellsSql = `request_id, cast(cost_nanos as text), prompt_tokens, cached_tokens, completion_tokens,
  reasoning_tokens`

export function toTransfer(row: Selectable<EntriesTable>): Transfer {
  return {
    at: row.at,
    debit: row.debit,
    credit: row.credit,
    amount: row.amount_nanos,
    kind: row.kind as Transfer['kind'],
    account: row.account_id ?? '',
    ref: row.ref ?? '',
    reason: row.reason,
    source: row.source as Transfer['source'],
  }
}
