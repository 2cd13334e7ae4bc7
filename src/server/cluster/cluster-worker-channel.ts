/** The channel to a worker on a cluster node: every reply is sent once its batch is committed. */
import type { MessagePort } from 'node:worker_threads'
import type { FromWorker } from '../workers/protocol.ts'
import { WorkerChannel, type WorkerChannelHandlers } from '../workers/worker-channel.ts'
import type { SharedAuthority } from './shared-authority.ts'

export class ClusterWorkerChannel extends WorkerChannel {
  readonly #authority: SharedAuthority
  /** Open holds of this worker: if it exits, they are expired. */
  readonly #openHolds = new Set<string>()
  /** Extensions without a reply. Call ids are reused, so none may get two replies. */
  readonly #pendingExtensions = new Set<{ readonly callId: number }>()
  #isClosed = false

  constructor(port: MessagePort, authority: SharedAuthority, handlers: WorkerChannelHandlers) {
    super(port, handlers)
    this.#authority = authority
  }

  onDurable(): void {
    // Every reply is durable already.
  }

  failPending(): void {
    for (const { callId } of this.#pendingExtensions) this.sendError(callId, 'service_unavailable')
    this.#pendingExtensions.clear()
  }

  /** The worker has exited: its holds expire at their last marks. */
  override close(): void {
    this.#isClosed = true
    for (const id of this.#openHolds) this.#authority.expire(id)
    this.#openHolds.clear()
    super.close()
  }

  protected handle(message: FromWorker): void {
    switch (message.kind) {
      case 'hold':
        return void this.#hold(message)
      case 'extend': {
        const pending = { callId: message.callId }
        this.#pendingExtensions.add(pending)
        return this.#authority.extend(message.id, message.remaining, (result) => {
          if (this.#pendingExtensions.delete(pending))
            this.sendBatched({ kind: 'result', callId: message.callId, result })
        })
      }
      case 'mark':
        return void this.#mark(message)
      case 'settle': {
        this.#openHolds.delete(message.request.id)
        return this.#authority.settle(
          message.request,
          this.takeStoredResponse(message.request.id),
          (charge) => this.sendBatched({ kind: 'result', callId: message.callId, result: charge.toString() }),
        )
      }
      case 'rejected':
        return this.handlers.rejections.record(message.rejection)
      case 'flush':
    }
  }

  async #hold({ callId, request }: FromWorker & { kind: 'hold' }): Promise<void> {
    const result = await this.#authority.hold(request)
    if (result.granted) {
      // The worker may have exited in the meantime.
      if (this.#isClosed) return this.#authority.expire(request.id)
      this.#openHolds.add(request.id)
      this.handlers.keyUsage.record(request.keyId)
      this.handlers.health.onAdmitted()
    }
    this.sendBatched({ kind: 'result', callId, result })
  }

  async #mark({ callId, id, input, output }: FromWorker & { kind: 'mark' }): Promise<void> {
    try {
      await this.#authority.mark(id, input, output)
      this.sendBatched({ kind: 'result', callId, result: undefined })
    } catch {
      this.sendError(callId, 'service_unavailable')
    }
  }
}
