/** The ledger for a worker on a cluster node: every reply is sent once its batch is committed. */
import type { SettleRequest } from '../../ledger/transaction.ts'
import type { HoldRequest } from '../../relay/ledger-client.ts'
import { WorkerLedger, type WorkerLedgerDeps } from '../worker-ledger.ts'
import type { SharedAuthority } from './shared-authority.ts'

export class ClusterWorkerLedger extends WorkerLedger {
  readonly #authority: SharedAuthority
  /** Extensions without a reply. Call ids are reused, so none may get two replies. */
  readonly #pendingExtensions = new Set<{ readonly callId: number }>()
  #isClosed = false

  constructor(authority: SharedAuthority, deps: WorkerLedgerDeps) {
    super(deps)
    this.#authority = authority
  }

  onDurable(): void {
    // Every reply is durable already.
  }

  failPending(): void {
    for (const { callId } of this.#pendingExtensions) this.replyUnavailable(callId)
    this.#pendingExtensions.clear()
  }

  override close(): void {
    this.#isClosed = true
    super.close()
  }

  hold(callId: number, request: HoldRequest): void {
    void this.#hold(callId, request)
  }

  extend(callId: number, id: string, remaining: number): void {
    const pending = { callId }
    this.#pendingExtensions.add(pending)
    this.#authority.extend(id, remaining, (result) => {
      if (this.#pendingExtensions.delete(pending)) this.channel.reply(callId, result)
    })
  }

  mark(callId: number, id: string, inputTokens: number, outputTokens: number): void {
    this.#authority.mark(id, inputTokens, outputTokens).then(
      () => this.channel.reply(callId, undefined),
      () => this.replyUnavailable(callId),
    )
  }

  settle(callId: number, request: SettleRequest): void {
    this.#authority.settle(request, this.takeHold(request.id), (charge) =>
      this.channel.reply(callId, charge.toString()),
    )
  }

  flush(): void {
    // A batch is written as soon as the one before it.
  }

  protected expire(id: string): void {
    this.#authority.expire(id)
  }

  async #hold(callId: number, request: HoldRequest): Promise<void> {
    const result = await this.#authority.hold(request)
    if (result.granted) {
      // The worker may have exited in the meantime.
      if (this.#isClosed) return this.#authority.expire(request.id)
      this.onGranted(request.id, request.keyId)
    }
    this.channel.reply(callId, result)
  }
}
