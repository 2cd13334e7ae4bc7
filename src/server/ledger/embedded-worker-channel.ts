/**
 * The channel to a worker on a single node: the authority handles requests at once; replies that must be durable wait here
 * for their commit, and all replies of one commit are sent as one message.
 */
import type { MessagePort } from 'node:worker_threads'
import type { Authority } from './authority.ts'
import type { CommitQueue } from './commit-queue.ts'
import type { SettleRequest } from '../../relay/ledger-client.ts'
import type { FromWorker, Committed, ToWorker } from '../workers/protocol.ts'
import { WorkerChannel, type WorkerChannelHandlers } from '../workers/worker-channel.ts'

interface DelayedReply {
  readonly callId: number
  readonly commit: number
  readonly result: unknown
}

export class EmbeddedWorkerChannel extends WorkerChannel {
  readonly #authority: Authority
  readonly #commits: CommitQueue
  /** Open holds of this worker: if it exits, they are expired. */
  readonly #openHolds = new Set<string>()
  #delayedReplies: DelayedReply[] = []
  /** The last commit of a granted hold that is not on disk yet; 0: none. */
  #lastHoldCommit = 0

  constructor(
    port: MessagePort,
    engine: { authority: Authority; commits: CommitQueue },
    handlers: WorkerChannelHandlers,
  ) {
    super(port, handlers)
    this.#authority = engine.authority
    this.#commits = engine.commits
  }

  onDurable(commit: number): void {
    const still: DelayedReply[] = []
    const messages: ToWorker[] = []
    for (const reply of this.#delayedReplies) {
      if (reply.commit > commit) still.push(reply)
      else messages.push({ kind: 'result', callId: reply.callId, result: reply.result })
    }
    this.#delayedReplies = still
    if (this.#lastHoldCommit > 0) messages.push({ kind: 'durable', commit })
    if (this.#lastHoldCommit <= commit) this.#lastHoldCommit = 0
    if (messages.length > 0) this.sendNow(messages)
  }

  failPending(): void {
    for (const { callId } of this.#delayedReplies) this.sendError(callId, 'service_unavailable')
    this.#delayedReplies = []
  }

  /** The worker has exited: its holds expire at their last marks. */
  override close(): void {
    for (const id of this.#openHolds) this.#authority.expire(id)
    this.#openHolds.clear()
    super.close()
  }

  protected handle(message: FromWorker): void {
    const authority = this.#authority
    switch (message.kind) {
      case 'hold': {
        const result = authority.hold(message.request)
        if (result.granted) {
          this.#openHolds.add(message.request.id)
          this.handlers.keyUsage.record(message.request.keyId)
          this.handlers.health.onAdmitted()
          this.#lastHoldCommit = Math.max(this.#lastHoldCommit, result.commit)
        } else if (result.retryAfterCommit !== undefined) {
          return this.#replyWhenDurable(message.callId, { commit: result.retryAfterCommit, result })
        }
        return this.sendBatched({ kind: 'result', callId: message.callId, result })
      }
      case 'extend':
        return this.#replyWhenDurable(message.callId, authority.extend(message.id, message.remaining))
      case 'mark':
        return this.#replyWhenDurable(
          message.callId,
          authority.mark(message.id, message.input, message.output),
        )
      case 'settle':
        return this.#settle(message.callId, message.request)
      case 'rejected':
        return this.handlers.rejections.record(message.rejection)
      case 'flush':
        return this.#commits.requestFlush(message.commit)
    }
  }

  #settle(callId: number, message: SettleRequest): void {
    this.#openHolds.delete(message.id)
    const { commit, result } = this.#authority.settle(message, this.takeStoredResponse(message.id))
    this.#replyWhenDurable(callId, { commit, result: result.toString() })
  }

  /** Replies when the commit is on disk. */
  #replyWhenDurable(callId: number, { commit, result }: Committed<unknown>): void {
    if (commit <= this.#commits.durable) this.sendBatched({ kind: 'result', callId, result })
    else {
      this.#delayedReplies.push({ callId, commit, result })
      this.#commits.requestFlush(commit)
    }
  }
}
