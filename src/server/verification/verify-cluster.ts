/**
 * Recomputes the ledger of a cluster from the chains of its nodes, in the order in which their commits have locked what
 * they touched, and compares everything derived with it: entries, owners, open holds, request rows. From the first commit
 * on, or from what the rows say of a moment.
 */
import { chainHash, chainStart } from '../../db/journal.ts'
import type { Db } from '../../db/db.ts'
import type { HoldRow, NodeHead, SharedOwnerRow } from '../../db/postgres/ledger-rows.ts'
import type { Ends } from '../../db/postgres/high-water-marks.ts'
import type { LedgerVerdict } from '../../http/house.ts'
import { LedgerBroken } from '../../ledger/apply.ts'
import { encodeHold } from '../../ledger/checkpoint.ts'
import { JournalUnreadable } from '../../ledger/journal.ts'
import { emptyOwner, emptyState, type LedgerState } from '../../ledger/state.ts'
import { Recomputation, type DroppedBills } from '../../ledger/verify.ts'
import { storedOwner } from '../ledger/recovery.ts'
import { transferOf } from './verify-ledger.ts'
import {
  areThere,
  commitsAfter,
  openHoldsNow,
  ownersNow,
  rowsOf,
  type CommitRow,
  type PageRows,
} from './cluster-ledger-pages.ts'
import { sharedRowOf } from '../cluster/owner-rows.ts'

/** Where a reading begins: after these commits, in the state that they left. `last`: the last rows that belong to them. */
export interface Beginning {
  readonly state: LedgerState
  readonly heads: ReadonlyMap<string, NodeHead>
  readonly last: Ends
}

const veryBeginning = (): Beginning => ({
  state: emptyState(),
  heads: new Map(),
  last: { entryId: Number.MIN_SAFE_INTEGER, rowId: Number.MIN_SAFE_INTEGER },
})

class BrokenChain extends Error {
  constructor({ node, number }: CommitRow) {
    super(
      `The journal of ${node === '' ? 'the relay before the nodes' : `node ${node}`} is broken at its commit ${number}: its hash does not follow from the commit before.`,
    )
  }
}

const isSame = (left: Uint8Array, right: Uint8Array): boolean => Buffer.compare(left, right) === 0

/** Of what was charged, and of entries: what the journal gives of rows that come after those of the last comparison. */
interface Given {
  readonly entries: number
  readonly charged: bigint
}

export class ClusterReading {
  readonly #recomputation: Recomputation
  readonly #heads: Map<string, NodeHead>
  readonly #isWhole: boolean
  #last: Ends
  #given: Given = { entries: 0, charged: 0n }
  #dropped: DroppedBills = { bills: 0, cost: 0n }
  #broken = false

  constructor(begin?: Beginning) {
    const { state, heads, last } = begin ?? veryBeginning()
    this.#recomputation = new Recomputation(state)
    this.#heads = new Map(heads)
    this.#isWhole = begin === undefined
    this.#last = last
  }

  /** Entries that the journal gives, of what was read. */
  get entries(): number {
    return this.#recomputation.entries
  }

  /** Whether it has read these chains to what were their ends. */
  hasReached(heads: ReadonlyMap<string, NodeHead>): boolean {
    return heads.entries().every(([node, { number }]) => (this.#heads.get(node)?.number ?? 0) >= number)
  }

  /** Whether all that was read is still there. */
  isThere(db: Db): Promise<boolean> {
    return areThere(db, this.#heads)
  }

  /** Notes what is wrong. */
  find(words: string): void {
    this.#recomputation.find(words)
  }

  /** Reads to the end of every chain. `db` has to see a single moment. */
  async read(db: Db): Promise<void> {
    while (await this.readPage(db));
  }

  /**
   * Reads the next commits of all nodes; whether there are more. Nothing is taken before all of it is read: one who was
   * cut off may go on, and in another moment. Once broken, always broken, and at the end.
   */
  async readPage(db: Db): Promise<boolean> {
    if (this.#broken) return false
    try {
      const { commits, isFull } = await commitsAfter(db, this.#heads)
      const heads = this.#headsAfter(commits)
      this.#take(commits, await rowsOf(db, commits))
      for (const [node, head] of heads) this.#heads.set(node, head)
      return isFull
    } catch (error) {
      const isFinding =
        error instanceof BrokenChain || error instanceof LedgerBroken || error instanceof JournalUnreadable
      if (!isFinding) throw error
      this.#broken = true
      this.#recomputation.find(error.message)
      return false
    }
  }

  /** Compares holds and owners with what was read, which has to reach to the end of every chain in this moment. */
  async verdict(db: Db): Promise<LedgerVerdict> {
    const [holds, owners] = [await openHoldsNow(db), await ownersNow(db)]
    this.#compareHolds(holds)
    this.#compareHeld(owners)
    return this.#recomputation.verdict(owners.map((row) => [row.id, storedOwner(row)] as const))
  }

  /** The ends of the chains after these commits. Throws where one does not follow. */
  #headsAfter(page: readonly CommitRow[]): Map<string, NodeHead> {
    const heads = new Map<string, NodeHead>()
    for (const commit of page) {
      const { node, number, prev, body, hash } = commit
      const head = heads.get(node) ?? this.#heads.get(node) ?? { number: 0, hash: chainStart }
      const follows = number === head.number + 1 && isSame(prev, head.hash)
      if (!follows || !isSame(hash, chainHash(prev, body))) throw new BrokenChain(commit)
      heads.set(node, { number, hash })
    }
    return heads
  }

  #take(page: readonly CommitRow[], { entries, charged, bills, dropped }: PageRows): void {
    const before = this.#recomputation.entries
    for (const { seq, body } of page) {
      const found = entries.get(seq) ?? []
      this.#recomputation.take({ seq, body, entries: found.map(transferOf), holds: undefined })
    }
    for (const bill of bills) this.#recomputation.takeBill(bill)
    // One who has begun later has seen none of those that are gone.
    if (this.#isWhole) this.#recomputation.forgoAwaited(dropped.bills)
    this.#dropped = dropped
    const { entryId, rowId } = this.#last
    const counted = entries
      .values()
      .flatMap((rows) => rows)
      .filter(({ id }) => id <= entryId)
    const paid = bills.filter((bill) => bill.rowId <= rowId).reduce((sum, { cost }) => sum + cost, 0n)
    this.#given = {
      entries: this.#given.entries + this.#recomputation.entries - before - counted.toArray().length,
      charged: this.#given.charged + charged - paid,
    }
  }

  /**
   * Nothing may have come that the journal does not give: entries or costs beyond those that were compared. Counted are
   * rows with higher numbers than there were when this was asked last; those that have come with lower ones, because
   * they were committed late, are known from their commits.
   */
  async compareSums(db: Db): Promise<void> {
    const { entryId, rowId } = this.#last
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
    const { entries, charged } = this.#given
    if (found?.entries !== entries)
      this.#recomputation.find(`there are ${found?.entries} entries, the journal gives ${entries}`)
    const cost = (found?.cost_nanos ?? 0n) + (this.#isWhole ? this.#dropped.cost : 0n)
    const drift = cost > charged ? cost - charged : charged - cost
    if (drift > 0n)
      this.#recomputation.find(
        `the request rows cost ${cost} nanos, the journal has charged ${charged}`,
        drift,
      )
    this.#last = { entryId: found?.entry_id ?? entryId, rowId: found?.row_id ?? rowId }
    this.#given = { entries: 0, charged: 0n }
  }

  #compareHolds(rows: readonly HoldRow[]): void {
    const { holds } = this.#recomputation.state
    const found = new Map(rows.map((row) => [row.id, row.body]))
    for (const [id, hold] of holds) {
      if (found.get(id) !== encodeHold(hold))
        this.#recomputation.find(`the hold ${id} differs from its row, or has none`)
    }
    for (const id of found.keys()) {
      if (!holds.has(id)) this.#recomputation.find(`the row of hold ${id} belongs to no open hold`)
    }
  }

  #compareHeld(rows: readonly SharedOwnerRow[]): void {
    const { owners } = this.#recomputation.state
    for (const row of rows) {
      const computed = sharedRowOf(row.id, owners.get(row.id) ?? emptyOwner())
      const names = (['held_nanos', 'day_held_nanos', 'month_held_nanos', 'past'] as const).filter(
        (name) => computed[name] !== row[name],
      )
      if (names.length > 0)
        this.#recomputation.find(`the row of ${row.id} differs from the journal in ${names.join(', ')}`)
    }
  }
}

/** The whole ledger. `db` has to see a single moment. */
export async function verifyCluster(db: Db): Promise<LedgerVerdict> {
  const reading = new ClusterReading()
  await reading.read(db)
  await reading.compareSums(db)
  return reading.verdict(db)
}
