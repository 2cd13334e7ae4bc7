/**
 * The main thread's side of a worker's calls of the ledger. Results other than holds are sent when they are durable, and
 * all of one commit in one message.
 */
import { apiError } from '../errors.ts'
import type { ResponseToStore, SettleRequest } from '../ledger/transaction.ts'
import type { HoldRequest, HoldResponse } from '../relay/ledger-client.ts'
import type { UpstreamHealth } from '../relay/upstreams/upstream-health.ts'
import type { BatchedHandlers } from '../rpc/channel.ts'
import type { Authority } from './authority.ts'
import type { KeyUsage } from './key-usage.ts'
import type { LedgerCalls, LedgerChannel } from './ledger-calls.ts'
import type { Decided, LedgerStore } from './ledger-store.ts'
import type { Rejection } from './rejection.ts'
import type { RejectionRecorder } from './rejection-recorder.ts'

export interface WorkerLedgerDeps {
  readonly channel: LedgerChannel
  readonly keyUsage: KeyUsage
  readonly rejections: RejectionRecorder
  readonly health: UpstreamHealth
}

/** A call without a reply. Call ids are reused, so none may get two replies. */
interface PendingCall {
  readonly callId: number
  /** Durable with this commit; Infinity: not decided yet. */
  readonly commit: number
  readonly result: unknown
}

export class WorkerLedger implements BatchedHandlers<LedgerCalls> {
  readonly #authority: Authority
  readonly #store: Pick<LedgerStore, 'durable' | 'newest' | 'requestFlush'>
  readonly #deps: WorkerLedgerDeps
  /** Responses to store that arrived before their settlements. */
  readonly #storedResponses = new Map<string, ResponseToStore>()
  /** Open holds of this worker: if it exits, they are expired. */
  readonly #openHolds = new Set<string>()
  readonly #pending = new Set<PendingCall>()
  /** The last commit of a granted hold that is not on disk yet; 0: none. */
  #lastHoldCommit = 0
  #isClosed = false

  constructor(
    { authority, store }: { readonly authority: Authority; readonly store: LedgerStore },
    deps: WorkerLedgerDeps,
  ) {
    this.#authority = authority
    this.#store = store
    this.#deps = deps
  }

  hold(callId: number, request: HoldRequest): void {
    const response = this.#authority.hold(request)
    if (response instanceof Promise) void response.then((result) => this.#onHold(callId, request, result))
    else this.#onHold(callId, request, response)
  }

  #onHold(callId: number, { id, keyId, stream }: HoldRequest, response: HoldResponse): void {
    const { channel, keyUsage, health } = this.#deps
    if (response.granted) {
      // The worker may have exited in the meantime.
      if (this.#isClosed) return void this.#authority.expire(id)
      this.#openHolds.add(id)
      keyUsage.record(keyId)
      health.onAdmitted()
      this.#lastHoldCommit = Math.max(this.#lastHoldCommit, response.commit)
      // A stream waits for its hold before it sends the first content; other requests wait for their settlement.
      if (stream) this.#store.requestFlush(response.commit)
    } else if (response.retryAfterCommit !== undefined) {
      return this.#replyWhenDurable(callId, response.retryAfterCommit, response)
    }
    channel.reply(callId, response)
  }

  extend(callId: number, id: string, remaining: number, searches: number): void {
    this.#reply(callId, this.#authority.extend(id, remaining, searches))
  }

  mark(callId: number, id: string, inputTokens: number, outputTokens: number): void {
    this.#reply(callId, this.#authority.mark(id, inputTokens, outputTokens))
  }

  settle(callId: number, request: SettleRequest): void {
    this.#openHolds.delete(request.id)
    const storedResponse = this.#storedResponses.get(request.id) ?? null
    if (storedResponse) this.#storedResponses.delete(request.id)
    this.#reply(callId, this.#authority.settle(request, storedResponse))
  }

  reject(_callId: number, rejection: Rejection): void {
    this.#deps.rejections.record(rejection)
  }

  storeResponse(id: string, response: ResponseToStore): void {
    this.#storedResponses.set(id, response)
  }

  /** A commit is on disk. */
  onDurable(commit: number): void {
    const { channel } = this.#deps
    const isAwaited = this.#pending.size > 0 || this.#lastHoldCommit > 0
    for (const call of this.#pending) {
      if (call.commit > commit) continue
      this.#pending.delete(call)
      channel.reply(call.callId, call.result)
    }
    if (this.#lastHoldCommit > 0) channel.sendBatched('durable', commit)
    if (this.#lastHoldCommit <= commit) this.#lastHoldCommit = 0
    if (isAwaited) channel.flush()
  }

  /** The store has rejected commits for too long: fails all calls that wait for one. */
  failPending(): void {
    for (const { callId } of this.#pending) this.#replyUnavailable(callId)
    this.#pending.clear()
  }

  /** The worker has exited: its holds expire at their last marks. */
  close(): void {
    this.#isClosed = true
    for (const id of this.#openHolds) void this.#authority.expire(id)
    this.#openHolds.clear()
  }

  #reply(callId: number, decided: Decided<bigint | number | undefined>): void {
    if (decided instanceof Promise) void this.#replyWhenDecided(callId, decided)
    else this.#replyWhenDurable(callId, this.#store.newest, textOf(decided))
  }

  async #replyWhenDecided(
    callId: number,
    deciding: Promise<bigint | number | undefined | null>,
  ): Promise<void> {
    const call = { callId, commit: Infinity, result: undefined }
    this.#pending.add(call)
    const result = await deciding
    if (!this.#pending.delete(call)) return
    if (result === null) this.#replyUnavailable(callId)
    else this.#deps.channel.reply(callId, textOf(result))
  }

  #replyWhenDurable(callId: number, commit: number, result: unknown): void {
    if (commit <= this.#store.durable) return this.#deps.channel.reply(callId, result)
    this.#pending.add({ callId, commit, result })
    this.#store.requestFlush(commit)
  }

  #replyUnavailable(callId: number): void {
    this.#deps.channel.replyError(callId, apiError('service_unavailable'))
  }
}

/** Results are sent as JSON, which has no bigint. */
function textOf(result: bigint | number | undefined): string | number | undefined {
  return typeof result === 'bigint' ? result.toString() : result
}
