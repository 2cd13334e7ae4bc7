/**
 * The end of a node's chain as the node knows it. Each connection finds it anew: there tells whether a commit whose answer
 * was lost has been made, and whether everything is still there that the database has ever confirmed.
 */
import { chainHash, chainStart } from '../../db/journal.ts'
import type { NodeHead } from '../../db/postgres/ledger-rows.ts'
import { Fenced } from './ledger-parts.ts'

/** Nothing that this node knows of its holds can be built on: a standby that was behind, or an old copy. */
const lostWhy =
  'the database has come back without commits that it had confirmed; this node joins again with what is there'

const start: NodeHead = { number: 0, hash: chainStart }

function isSame(a: NodeHead, b: NodeHead): boolean {
  return a.number === b.number && Buffer.compare(a.hash, b.hash) === 0
}

export class ChainEnd {
  head: NodeHead = start
  /** The database has told it in this epoch. */
  #isKnown = false

  /** The end after a commit; without one it stays. */
  after(body: string | null): NodeHead {
    const { number, hash } = this.head
    return body === null ? this.head : { number: number + 1, hash: chainHash(hash, body) }
  }

  /**
   * Takes over what a new connection has found; whether that is the end of the commit whose answer was lost. Throws Fenced
   * where the epoch is over (`undefined`), and where confirmed commits are missing.
   */
  found(head: NodeHead | null | undefined, unclear: NodeHead | undefined): boolean {
    if (head === undefined) throw new Fenced()
    const found = head ?? start
    const isCommitted = unclear !== undefined && isSame(found, unclear)
    if (this.#isKnown && !isCommitted && !isSame(found, this.head)) throw new Fenced(lostWhy)
    this.head = found
    this.#isKnown = true
    return isCommitted
  }

  /** Another epoch begins with whatever the database has. */
  forget(): void {
    this.#isKnown = false
  }
}
