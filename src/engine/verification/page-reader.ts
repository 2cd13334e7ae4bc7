/** Reads the journal page by page, with its chains verified, and the rows that belong to each page. */
import { hash as hashOnce } from 'node:crypto'
import type { Db } from '../../db/db.ts'
import { decodeEvents, JournalFormatError } from '../../ledger/journal.ts'
import { hasBill, type CommitRows } from '../../ledger/commit-rows.ts'
import type {
  ChainHead,
  ChainHeads,
  LedgerSource,
  RestOfRows,
  RowReader,
  StartingPoint,
  StoredCommit,
  StoredState,
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

/** What is compared after the last page. */
export interface LedgerEnd {
  readonly rest: RestOfRows
  readonly state: StoredState
}

const genesis: ChainHead = { number: 0, hash: '00'.repeat(32) }

export class PageReader {
  readonly #source: LedgerSource
  readonly #rows: RowReader
  #heads: ChainHeads
  #billsToSkip: number

  constructor(source: LedgerSource, { heads, rows, dropped }: StartingPoint) {
    this.#source = source
    this.#rows = rows
    this.#heads = heads
    this.#billsToSkip = dropped.bills
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
    const { commits, heads, broken } = this.#followChains(page.commits)
    let billed: string[]
    try {
      billed = commits.flatMap(({ body }) => decodeEvents(body).filter(hasBill)).map(({ id }) => id)
    } catch (error) {
      if (!(error instanceof JournalFormatError)) throw error
      return { ...noCommits, broken: error.message }
    }
    const rows = await this.#rows.read(db, commits, billed.slice(this.#billsToSkip))
    this.#billsToSkip -= Math.min(this.#billsToSkip, billed.length)
    this.#heads = heads
    return {
      seqs: commits.map(({ seq }) => seq),
      bodies: commits.map(({ body }) => body),
      holds: new Map(commits.flatMap(({ seq, holds }) => (holds === null ? [] : [[seq, holds]]))),
      rows,
      broken,
      isLast: broken !== null || !page.isFull,
    }
  }

  /** In the snapshot of the last page. */
  async readEnd(db: Db): Promise<LedgerEnd> {
    return { state: await this.#source.readState(db), rest: await this.#rows.readRest(db) }
  }

  /** The commits up to the first one that does not follow from its predecessor. */
  #followChains(commits: readonly StoredCommit[]): {
    readonly commits: readonly StoredCommit[]
    readonly heads: ChainHeads
    readonly broken: string | null
  } {
    const heads = new Map(this.#heads)
    for (const [index, commit] of commits.entries()) {
      const { node, number, prev, hash, body } = commit
      const head = heads.get(node) ?? genesis
      const follows = number === head.number + 1 && prev === head.hash && hash === nextHash(prev, body)
      if (!follows)
        return { commits: commits.slice(0, index), heads, broken: this.#source.describeBreak(commit) }
      heads.set(node, { number, hash })
    }
    return { commits, heads, broken: null }
  }
}

const noCommits = {
  seqs: [],
  bodies: [],
  holds: new Map<number, string>(),
  rows: { entries: '[]', bills: '[]', deletedBills: 0 },
  isLast: true,
}

/** `chainHash` of db/journal.ts in hexadecimal, without a new buffer for each of millions of commits. */
let hashed = Buffer.alloc(65_536)

function nextHash(previous: string, body: string): string {
  const maxBytes = 32 + 3 * body.length
  if (hashed.length < maxBytes) hashed = Buffer.alloc(maxBytes)
  hashed.write(previous, 'hex')
  return hashOnce('sha256', hashed.subarray(0, 32 + hashed.write(body, 32)))
}
