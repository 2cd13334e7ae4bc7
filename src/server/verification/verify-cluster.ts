/**
 * Recomputes the ledger of a cluster from the chains of its nodes, in the order in which their commits locked the rows they
 * touched, and compares all derived rows with it: entries, owners, open holds, request rows. It starts at the first commit,
 * or from the rows of a snapshot.
 */
import { chainHash, chainGenesis } from '../../db/journal.ts'
import type { Db } from '../../db/db.ts'
import type { HoldRow, NodeChainHead, SharedOwnerRow } from '../../db/postgres/lock-batch.ts'
import type { HighWaterMarks } from '../../db/postgres/high-water-marks.ts'
import type { LedgerReport } from '../../ledger/report.ts'
import { LedgerInvariantError } from '../../ledger/apply.ts'
import { encodeHold } from '../../ledger/checkpoint.ts'
import { JournalFormatError } from '../../ledger/journal.ts'
import { emptyOwner, emptyState, type LedgerState } from '../../ledger/state.ts'
import { LedgerVerifier, type DroppedBills } from '../../ledger/verify.ts'
import { storedOwner } from '../ledger/recovery.ts'
import { toTransfer } from './verify-ledger.ts'
import {
  containsHeads,
  readCommitsAfter,
  readOpenHolds,
  readOwners,
  readRowsOf,
  type CommitRow,
  type CommitPageRows,
} from './cluster-ledger-pages.ts'
import { ownerToRow } from '../cluster/ledger/shared-rows.ts'

/** Where a run starts: after these heads, in the state at that time. `lastRows`: the last rows that belong to them. */
export interface ClusterStartingPoint {
  readonly state: LedgerState
  readonly heads: ReadonlyMap<string, NodeChainHead>
  readonly lastRows: HighWaterMarks
}

const beforeFirstCommit = (): ClusterStartingPoint => ({
  state: emptyState(),
  heads: new Map(),
  lastRows: { entryId: Number.MIN_SAFE_INTEGER, rowId: Number.MIN_SAFE_INTEGER },
})

class BrokenChainError extends Error {
  constructor({ node, number }: CommitRow) {
    super(
      `The journal of ${node === '' ? 'the single relay before the cluster' : `node ${node}`} is broken at its commit ${number}: its hash does not follow from the previous commit.`,
    )
  }
}

const isSame = (left: Uint8Array, right: Uint8Array): boolean => Buffer.compare(left, right) === 0

/** The entries and charges that the journal implies for rows after the last comparison. */
interface ExpectedRows {
  readonly entries: number
  readonly charged: bigint
}

export class ClusterVerificationRun {
  readonly #verifier: LedgerVerifier
  readonly #heads: Map<string, NodeChainHead>
  readonly #isFromFirstCommit: boolean
  #lastRows: HighWaterMarks
  #expected: ExpectedRows = { entries: 0, charged: 0n }
  #dropped: DroppedBills = { bills: 0, cost: 0n }
  #isBroken = false

  constructor(start?: ClusterStartingPoint) {
    const { state, heads, lastRows } = start ?? beforeFirstCommit()
    this.#verifier = new LedgerVerifier(state)
    this.#heads = new Map(heads)
    this.#isFromFirstCommit = start === undefined
    this.#lastRows = lastRows
  }

  /** How many entries the journal implies so far. */
  get entries(): number {
    return this.#verifier.entries
  }

  /** Whether it has read the chains up to these heads. */
  hasReached(heads: ReadonlyMap<string, NodeChainHead>): boolean {
    return heads.entries().every(([node, { number }]) => (this.#heads.get(node)?.number ?? 0) >= number)
  }

  /** Whether everything that was read still exists. */
  isHistoryIntact(db: Db): Promise<boolean> {
    return containsHeads(db, this.#heads)
  }

  /** Adds a finding to the report. */
  addFinding(message: string): void {
    this.#verifier.addFinding(message)
  }

  /** Reads to the end of every chain. `db` must see a single snapshot. */
  async read(db: Db): Promise<void> {
    while (await this.readPage(db));
  }

  /**
   * Reads the next commits of all nodes. Returns whether there are more. It applies nothing before the whole page is read, so
   * an interrupted run can continue with another snapshot. A broken chain stays broken, and ends the run.
   */
  async readPage(db: Db): Promise<boolean> {
    if (this.#isBroken) return false
    try {
      const { commits, isFull } = await readCommitsAfter(db, this.#heads)
      const heads = this.#headsAfter(commits)
      this.#applyPage(commits, await readRowsOf(db, commits))
      for (const [node, head] of heads) this.#heads.set(node, head)
      return isFull
    } catch (error) {
      const isFinding =
        error instanceof BrokenChainError ||
        error instanceof LedgerInvariantError ||
        error instanceof JournalFormatError
      if (!isFinding) throw error
      this.#isBroken = true
      this.#verifier.addFinding(error.message)
      return false
    }
  }

  /** Compares holds and owners with what was read. All chains must have been read to their heads in this snapshot. */
  async report(db: Db): Promise<LedgerReport> {
    const [holds, owners] = [await readOpenHolds(db), await readOwners(db)]
    this.#compareHolds(holds)
    this.#compareHeldAmounts(owners)
    return this.#verifier.report(owners.map((row) => [row.id, storedOwner(row)] as const))
  }

  /** The heads of the chains after these commits. Throws if a commit does not follow. */
  #headsAfter(page: readonly CommitRow[]): Map<string, NodeChainHead> {
    const heads = new Map<string, NodeChainHead>()
    for (const commit of page) {
      const { node, number, prev, body, hash } = commit
      const head = heads.get(node) ?? this.#heads.get(node) ?? { number: 0, hash: chainGenesis }
      const follows = number === head.number + 1 && isSame(prev, head.hash)
      if (!follows || !isSame(hash, chainHash(prev, body))) throw new BrokenChainError(commit)
      heads.set(node, { number, hash })
    }
    return heads
  }

  #applyPage(page: readonly CommitRow[], { entries, charged, bills, dropped }: CommitPageRows): void {
    const before = this.#verifier.entries
    for (const { seq, body } of page) {
      const found = entries.get(seq) ?? []
      this.#verifier.applyCommit({ seq, body, entries: found.map(toTransfer), holds: undefined })
    }
    for (const bill of bills) this.#verifier.addBillRow(bill)
    // A run with a later start has seen none of the deleted rows.
    if (this.#isFromFirstCommit) this.#verifier.skipPendingBills(dropped.bills)
    this.#dropped = dropped
    const { entryId, rowId } = this.#lastRows
    const counted = entries
      .values()
      .flatMap((rows) => rows)
      .filter(({ id }) => id <= entryId)
    const paid = bills.filter((bill) => bill.rowId <= rowId).reduce((sum, { cost }) => sum + cost, 0n)
    this.#expected = {
      entries: this.#expected.entries + this.#verifier.entries - before - counted.toArray().length,
      charged: this.#expected.charged + charged - paid,
    }
  }

  /**
   * Finds entries and costs that the journal does not imply. It counts rows with higher numbers than at the last call; rows
   * with lower numbers, because they were committed late, are known from their commits.
   */
  async compareSums(db: Db): Promise<void> {
    const { entryId, rowId } = this.#lastRows
    const [found] = await db.report<{
      entries: number
      cost_nanos: bigint | null
      entry_id: number | null
      row_id: number | null
    }>({
      sql: `select (select count(*) from entries where id > ?) as entries,
        (select sum(cost_nanos) from requests where row_id > ?) as cost_nanos,
        (select max(id) from entries) as entry_id, (select max(row_id) from requests) as row_id`,
      parameters: [entryId, rowId],
    })
    const { entries, charged } = this.#expected
    if (found?.entries !== entries)
      this.#verifier.addFinding(`there are ${found?.entries} entries, but the journal has ${entries}`)
    const cost = (found?.cost_nanos ?? 0n) + (this.#isFromFirstCommit ? this.#dropped.cost : 0n)
    const drift = cost > charged ? cost - charged : charged - cost
    if (drift > 0n)
      this.#verifier.addFinding(
        `the request rows cost ${cost} nanos, but the journal charged ${charged}`,
        drift,
      )
    this.#lastRows = { entryId: found?.entry_id ?? entryId, rowId: found?.row_id ?? rowId }
    this.#expected = { entries: 0, charged: 0n }
  }

  #compareHolds(rows: readonly HoldRow[]): void {
    const { holds } = this.#verifier.state
    const found = new Map(rows.map((row) => [row.id, row.body]))
    for (const [id, hold] of holds) {
      if (found.get(id) !== encodeHold(hold))
        this.#verifier.addFinding(`the hold ${id} differs from its row, or has none`)
    }
    for (const id of found.keys()) {
      if (!holds.has(id)) this.#verifier.addFinding(`the row of hold ${id} belongs to no open hold`)
    }
  }

  #compareHeldAmounts(rows: readonly SharedOwnerRow[]): void {
    const { owners } = this.#verifier.state
    for (const row of rows) {
      const computed = ownerToRow(row.id, owners.get(row.id) ?? emptyOwner())
      const names = (['held_nanos', 'day_held_nanos', 'month_held_nanos', 'past'] as const).filter(
        (name) => computed[name] !== row[name],
      )
      if (names.length > 0)
        this.#verifier.addFinding(`the row of ${row.id} differs from the journal in ${names.join(', ')}`)
    }
  }
}

/** Verifies the whole ledger. `db` must see a single snapshot. */
export async function verifyClusterLedger(db: Db): Promise<LedgerReport> {
  const run = new ClusterVerificationRun()
  await run.read(db)
  await run.compareSums(db)
  return run.report(db)
}
