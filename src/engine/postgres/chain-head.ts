/**
 * The head of a node's chain of commits as the node knows it. Each new connection reads it again: it shows whether a
 * commit in doubt was made, and whether everything that the database ever confirmed is still there.
 */
import type { Client } from 'pg'
import { chainHash, chainGenesis } from '../../db/journal.ts'
import { openLedgerClient, readNodeChainHead, type NodeChainHead } from '../../db/postgres/lock-batch.ts'
import type { BatchRows } from '../../db/postgres/write-batch.ts'
import type { LedgerEvent } from '../../ledger/events.ts'
import { encodeEvents } from '../../ledger/journal.ts'
import { FencedError } from './ledger-errors.ts'

/** What this node knows of its holds no longer applies: the database is a standby that lagged behind, or an old copy. */
const lostCommitsWhy =
  'the database came back without commits that it had confirmed; this node rejoins with what is there'

/** A stalled node with locked rows must not block other nodes for as long as a statement may take. */
const timeouts = { statementMs: 5000, idleInTransactionMs: 2000 }
const emptyChain: NodeChainHead = { number: 0, hash: chainGenesis }

function isSame(a: NodeChainHead, b: NodeChainHead): boolean {
  return a.number === b.number && Buffer.compare(a.hash, b.hash) === 0
}

export class ChainHead {
  head: NodeChainHead = emptyChain
  /** The database has returned the head in this epoch. */
  #isConfirmed = false

  /** The journal row of a commit with these events, and the head after it. Without events: no row, and the same head. */
  next(events: readonly LedgerEvent[], at: number): { head: NodeChainHead; commit: BatchRows['commit'] } {
    const { number, hash: prev } = this.head
    if (events.length === 0) return { head: this.head, commit: null }
    const body = encodeEvents(events)
    const head = { number: number + 1, hash: chainHash(prev, body) }
    return { head, commit: { ...head, at, body, prev } }
  }

  /**
   * Opens a connection and adopts the head that it finds. Returns whether the commit in doubt was made. Throws FencedError
   * if the epoch is over or if confirmed commits are missing.
   */
  async connect(
    { url, node }: { readonly url: string; readonly node: string },
    epoch: number,
    inDoubt: NodeChainHead | undefined,
  ): Promise<{ readonly client: Client; readonly isCommitted: boolean }> {
    const client = await openLedgerClient({ url, name: `sluice ${node} ledger`, ...timeouts })
    try {
      const head = await readNodeChainHead(client, node, epoch)
      return { client, isCommitted: this.#reconcile(head, inDoubt) }
    } catch (error) {
      await client.end().catch(() => undefined)
      throw error
    }
  }

  /** `head`: `undefined` if the epoch is over. */
  #reconcile(head: NodeChainHead | null | undefined, inDoubt: NodeChainHead | undefined): boolean {
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
