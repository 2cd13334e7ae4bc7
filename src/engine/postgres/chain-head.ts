/**
 * The head of a node's chain of commits as the node knows it. Each new connection reads it again: it shows whether a
 * commit in doubt was made, and whether everything that the database ever confirmed is still there.
 */
import { chainHash, chainGenesis } from '../../db/journal.ts'
import type { NodeChainHead } from '../../db/postgres/lock-batch.ts'
import { FencedError } from './ledger-errors.ts'

/** What this node knows of its holds no longer applies: the database is a standby that lagged behind, or an old copy. */
const lostCommitsWhy =
  'the database came back without commits that it had confirmed; this node rejoins with what is there'

const emptyChain: NodeChainHead = { number: 0, hash: chainGenesis }

function isSame(a: NodeChainHead, b: NodeChainHead): boolean {
  return a.number === b.number && Buffer.compare(a.hash, b.hash) === 0
}

export class ChainHead {
  head: NodeChainHead = emptyChain
  /** The database has returned the head in this epoch. */
  #isConfirmed = false

  /** The head after a commit with this body; `null`: no commit, so the head stays. */
  headAfter(body: string | null): NodeChainHead {
    const { number, hash } = this.head
    return body === null ? this.head : { number: number + 1, hash: chainHash(hash, body) }
  }

  /**
   * Adopts the head that a new connection has found. Returns whether the commit in doubt was made. Throws FencedError if
   * the epoch is over (`undefined`) or if confirmed commits are missing.
   */
  reconcile(head: NodeChainHead | null | undefined, inDoubt: NodeChainHead | undefined): boolean {
    if (head === undefined) throw new FencedError()
    const found = head ?? emptyChain
    const isCommitted = inDoubt !== undefined && isSame(found, inDoubt)
    if (this.#isConfirmed && !isCommitted && !isSame(found, this.head)) throw new FencedError(lostCommitsWhy)
    this.head = found
    this.#isConfirmed = true
    return isCommitted
  }

  /** A new epoch starts with whatever the database has. */
  reset(): void {
    this.#isConfirmed = false
  }
}
