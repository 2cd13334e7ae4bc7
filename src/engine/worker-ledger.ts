/** The main thread's side of a worker's calls of the ledger, apart from what differs between the stores. */
import { apiError } from '../errors.ts'
import type { ResponseToStore } from '../ledger/transaction.ts'
import type { BatchedHandlers } from '../rpc/channel.ts'
import type { UpstreamHealth } from '../relay/upstreams/upstream-health.ts'
import type { KeyUsage } from './key-usage.ts'
import type { LedgerCalls, LedgerChannel } from './ledger-calls.ts'
import type { Rejection } from './rejection.ts'
import type { RejectionRecorder } from './rejection-recorder.ts'

export interface WorkerLedgerDeps {
  readonly channel: LedgerChannel
  readonly keyUsage: KeyUsage
  readonly rejections: RejectionRecorder
  readonly health: UpstreamHealth
}

type Handlers = BatchedHandlers<LedgerCalls>

export abstract class WorkerLedger implements Handlers {
  protected readonly channel: LedgerChannel
  readonly #deps: WorkerLedgerDeps
  /** Responses to store that arrived before their settlements. */
  readonly #storedResponses = new Map<string, ResponseToStore>()
  /** Open holds of this worker: if it exits, they are expired. */
  readonly #openHolds = new Set<string>()

  constructor(deps: WorkerLedgerDeps) {
    this.channel = deps.channel
    this.#deps = deps
  }

  abstract hold(...call: Parameters<Handlers['hold']>): void
  abstract extend(...call: Parameters<Handlers['extend']>): void
  abstract mark(...call: Parameters<Handlers['mark']>): void
  abstract settle(...call: Parameters<Handlers['settle']>): void
  abstract flush(...call: Parameters<Handlers['flush']>): void

  reject(_callId: number, rejection: Rejection): void {
    this.#deps.rejections.record(rejection)
  }

  storeResponse(id: string, response: ResponseToStore): void {
    this.#storedResponses.set(id, response)
  }

  /** A commit is on disk. */
  abstract onDurable(commit: number): void

  /** The store has rejected commits for too long: fails all calls that wait for one. */
  abstract failPending(): void

  /** The worker has exited: its holds expire at their last marks. */
  close(): void {
    for (const id of this.#openHolds) this.expire(id)
    this.#openHolds.clear()
  }

  protected abstract expire(id: string): void

  protected onGranted(id: string, keyId: string): void {
    this.#openHolds.add(id)
    this.#deps.keyUsage.record(keyId)
    this.#deps.health.onAdmitted()
  }

  /** The hold is about to be settled, with the response to store, if there is one. */
  protected takeHold(id: string): ResponseToStore | null {
    this.#openHolds.delete(id)
    const storedResponse = this.#storedResponses.get(id) ?? null
    if (storedResponse) this.#storedResponses.delete(id)
    return storedResponse
  }

  protected replyUnavailable(callId: number): void {
    this.channel.replyError(callId, apiError('service_unavailable'))
  }
}
