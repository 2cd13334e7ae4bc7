/**
 * The ledger for a worker on a single node: the authority handles calls at once; replies that must be durable wait here
 * for their commit, and all replies of one commit are sent as one message.
 */
import type { Authority } from './authority.ts'
import type { CommitQueue } from './commit-queue.ts'
import type { SettleRequest } from '../../ledger/transaction.ts'
import type { HoldRequest } from '../../relay/ledger-client.ts'
import type { Committed } from '../ledger-calls.ts'
import { WorkerLedger, type WorkerLedgerDeps } from '../worker-ledger.ts'

interface DelayedReply {
  readonly callId: number
  readonly commit: number
  readonly result: unknown
}

export class EmbeddedWorkerLedger extends WorkerLedger {
  readonly #authority: Authority
  readonly #commits: CommitQueue
  #delayedReplies: DelayedReply[] = []
  /** The last commit of a granted hold that is not on disk yet; 0: none. */
  #lastHoldCommit = 0

  constructor(engine: { authority: Authority; commits: CommitQueue }, deps: WorkerLedgerDeps) {
    super(deps)
    this.#authority = engine.authority
    this.#commits = engine.commits
  }

  onDurable(commit: number): void {
    const still: DelayedReply[] = []
    const isAwaited = this.#delayedReplies.length > 0 || this.#lastHoldCommit > 0
    for (const reply of this.#delayedReplies) {
      if (reply.commit > commit) still.push(reply)
      else this.channel.reply(reply.callId, reply.result)
    }
    this.#delayedReplies = still
    if (this.#lastHoldCommit > 0) this.channel.sendBatched('durable', commit)
    if (this.#lastHoldCommit <= commit) this.#lastHoldCommit = 0
    if (isAwaited) this.channel.flush()
  }

  failPending(): void {
    for (const { callId } of this.#delayedReplies) this.replyUnavailable(callId)
    this.#delayedReplies = []
  }

  hold(callId: number, request: HoldRequest): void {
    const result = this.#authority.hold(request)
    if (result.granted) {
      this.onGranted(request.id, request.keyId)
      this.#lastHoldCommit = Math.max(this.#lastHoldCommit, result.commit)
    } else if (result.retryAfterCommit !== undefined) {
      return this.#replyWhenDurable(callId, { commit: result.retryAfterCommit, result })
    }
    this.channel.reply(callId, result)
  }

  extend(callId: number, id: string, remaining: number): void {
    this.#replyWhenDurable(callId, this.#authority.extend(id, remaining))
  }

  mark(callId: number, id: string, inputTokens: number, outputTokens: number): void {
    this.#replyWhenDurable(callId, this.#authority.mark(id, inputTokens, outputTokens))
  }

  settle(callId: number, request: SettleRequest): void {
    const { commit, result } = this.#authority.settle(request, this.takeHold(request.id))
    this.#replyWhenDurable(callId, { commit, result: result.toString() })
  }

  flush(_callId: number, commit: number): void {
    this.#commits.requestFlush(commit)
  }

  protected expire(id: string): void {
    this.#authority.expire(id)
  }

  /** Replies when the commit is on disk. */
  #replyWhenDurable(callId: number, { commit, result }: Committed<unknown>): void {
    if (commit <= this.#commits.durable) this.channel.reply(callId, result)
    else {
      this.#delayedReplies.push({ callId, commit, result })
      this.#commits.requestFlush(commit)
    }
  }
}
