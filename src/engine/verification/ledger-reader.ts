/** Reads the journal page by page, with its chains verified, and the rows that belong to each page. */
import { hash as hashOnce } from 'node:crypto'
import type { Db } from '../../db/db.ts'
import { JournalChainError } from '../../db/read-ledger.ts'
import { readDeletedRequests } from '../../db/retention/delete-requests.ts'
import { addTotals, noRows, totalRows, type RowTotals } from './row-sums.ts'
import {
  afterLastRow,
  beforeFirstRow,
  addBilledIds,
  type BillsOfCommits,
  type ChainHead,
  type ChainHeads,
  type CommitRows,
  type EntriesOfCommits,
  type LedgerSource,
  type RowMarks,
  type StartingPoint,
  type StoredCommit,
  type StoredState,
} from './ledger-source.ts'

/** The next commits, with the rows that belong to them. Lists of plain values are sent to another thread fast. */
export interface LedgerPage {
  readonly seqs: readonly number[]
  readonly bodies: readonly string[]
  /** The open holds after those commits that made a checkpoint. */
  readonly holds: ReadonlyMap<number, string>
  readonly rows: CommitRows
  /** Why nothing can be read after these commits. */
  readonly broken: string | null
  readonly isLast: boolean
}

/** What is compared after the last page. `totals`: of all rows since the last end, whether they belong to commits or not. */
export interface LedgerEnd {
  readonly totals: RowTotals
  readonly state: StoredState
}

const genesis: ChainHead = { number: 0, hash: '00'.repeat(32) }

export class LedgerReader {
  readonly #source: LedgerSource
  readonly #isFromFirstCommit: boolean
  #heads: ChainHeads
  #marks: RowMarks
  #lastEntry: number
  /** Rows of commits since the last end that have lower ids than its last rows, because they were committed late. */
  #late = noRows

  /** Reads the whole ledger once, or from a starting point on. */
  constructor(source: LedgerSource, start: Pick<StartingPoint, 'heads' | 'marks'> | null) {
    this.#source = source
    this.#isFromFirstCommit = start === null
    this.#heads = start?.heads ?? new Map()
    this.#marks = start?.marks ?? { entryId: beforeFirstRow, rowId: beforeFirstRow }
    this.#lastEntry = this.#marks.entryId
  }

  /** Whether it has read the chains up to these heads. */
  hasReached(heads: ChainHeads): boolean {
    return heads.entries().every(([node, { number }]) => (this.#heads.get(node)?.number ?? 0) >= number)
  }

  /** Whether everything that was read still exists. */
  isHistoryIntact(db: Db): Promise<boolean> {
    return this.#source.containsHeads(db, this.#heads)
  }

  /** Nothing is remembered before the whole page is read, so an interrupted read can continue with another snapshot. */
  async next(db: Db): Promise<LedgerPage> {
    const page = await this.#source.readCommits(db, this.#heads)
    const { commits, heads, broken } = followChains(page.commits, this.#heads)
    const [seqs, bodies, billed]: [number[], string[], string[]] = [[], [], []]
    for (const { seq, body } of commits) {
      seqs.push(seq)
      bodies.push(body)
      addBilledIds(billed, body)
    }
    const rows = await this.#readRows(db, seqs, billed)
    this.#heads = heads
    return {
      seqs,
      bodies,
      holds: page.holds,
      rows,
      broken,
      isLast: broken !== null || !page.isFull,
    }
  }

  async #readRows(db: Db, seqs: readonly number[], billed: readonly string[]): Promise<CommitRows> {
    const select = this.#source.selectRows(seqs, billed, { ...this.#marks, lastEntry: this.#lastEntry })
    const [entries] = await db.report<EntriesOfCommits>(select.entries)
    const [bills] = await db.report<BillsOfCommits>(select.bills)
    if (!entries || !bills) throw new Error('An aggregate query returned no row.')
    // A replay with a later start has seen none of the deleted rows.
    const canBeDeleted = this.#isFromFirstCommit && bills.found < billed.length
    const deletedBills = canBeDeleted ? (await readDeletedRequests(db)).bills : 0
    this.#lastEntry = entries.last ?? this.#lastEntry
    this.#late = addTotals(this.#late, {
      entries: entries.late,
      amount: entries.late_nanos,
      bills: bills.late,
      cost: bills.late_nanos,
    })
    return { entries: entries.cells, bills: bills.cells, deletedBills }
  }

  /** In the snapshot of the last page. */
  async readEnd(db: Db): Promise<LedgerEnd> {
    const { entryId, rowId } = this.#marks
    const state = await this.#source.readState(db)
    const entries = await totalRows(db, 'entries', [entryId, afterLastRow])
    const requests = await totalRows(db, 'requests', [rowId, afterLastRow])
    const deleted = this.#isFromFirstCommit ? { ...noRows, ...(await readDeletedRequests(db)) } : noRows
    this.#marks = { entryId: entries.last, rowId: requests.last }
    const totals = [entries.totals, requests.totals, deleted].reduce(addTotals, this.#late)
    this.#late = noRows
    return { state, totals }
  }
}

/** The commits up to the first one that does not follow from its predecessor. */
function followChains(
  commits: readonly StoredCommit[],
  from: ChainHeads,
): { readonly commits: readonly StoredCommit[]; readonly heads: ChainHeads; readonly broken: string | null } {
  const heads = new Map(from)
  let chain: string | null | undefined
  let head = genesis
  for (const [index, { node, number, body, link }] of commits.entries()) {
    // A page has many commits of one chain in a row.
    if (node !== chain) head = heads.get(node) ?? genesis
    chain = node
    const hash = nextHash(head.hash, body)
    if (number !== head.number + 1 || link !== head.hash + hash)
      return { commits: commits.slice(0, index), heads, broken: describeBreak(node, number) }
    head = { number, hash }
    if (commits[index + 1]?.node !== node) heads.set(node, head)
  }
  return { commits, heads, broken: null }
}

function describeBreak(node: string | null, number: number): string {
  if (node === null) return new JournalChainError(number).message
  const chain = node === '' ? 'the single relay before the cluster' : `node ${node}`
  return `The journal of ${chain} is broken at its commit ${number}: its hash does not follow from the previous commit.`
}

/** `chainHash` of db/journal.ts in hexadecimal, without a new buffer for each of millions of commits. */
let hashed = Buffer.alloc(65_536)

function nextHash(previous: string, body: string): string {
  const maxBytes = 32 + 3 * body.length
  if (hashed.length < maxBytes) hashed = Buffer.alloc(maxBytes)
  hashed.write(previous, 'hex')
  return hashOnce('sha256', hashed.subarray(0, 32 + hashed.write(body, 32)))
}
