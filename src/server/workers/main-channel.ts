/**
 * A worker's channel to the main thread. The messages of one turn of the event loop are sent as one.
 */
import type { MessagePort } from 'node:worker_threads'
import { apiError } from '../../errors.ts'
import type { Changes } from '../../db/change.ts'
import { SlotMap } from '../../lib/slot-map.ts'
import type { CircuitChange } from '../../health/call-reports.ts'
import type {
  LedgerClient,
  HoldResponse,
  HoldRequest,
  ResponseToStore,
  SettleRequest,
} from '../../relay/ledger-client.ts'
import type { Wallet } from '../../ledger/wallet.ts'
import type { RateStatus } from '../../limits/rate-limiter.ts'
import type { FromWorker, NodeState, ControlRequest, FromWorkerUnbatched, ToWorker } from './protocol.ts'
import type { RejectedFieldRecord } from '../../relay/routing/rejected-fields.ts'
import type { RemoteReportSlots } from './report-slots.ts'
import type { Rejection } from './rejection.ts'

export interface MainChannelHandlers {
  onChanges(changes: Changes): Promise<void>
  collectMetrics(): Promise<unknown>
  onState(state: NodeState): void
  onCircuitChanges(changes: readonly CircuitChange[]): void
  onRejectedFields(records: readonly RejectedFieldRecord[]): void
  onReloadCertificate(): void
  onListen(): Promise<void>
  onDrain(): Promise<void>
  onAbort(): void
}

interface PendingCall {
  resolve(result: unknown): void
  reject(error: unknown): void
}

interface CommitWaiter {
  readonly commit: number
  readonly promise: Promise<void>
  readonly resolve: () => void
}

export class MainChannel implements LedgerClient, RemoteReportSlots {
  readonly #port: MessagePort
  readonly #pendingCalls = new SlotMap<PendingCall>()
  #commitWaiters: CommitWaiter[] = []
  #batch: FromWorker[] = []
  #isScheduled = false
  #durable = 0

  constructor(port: MessagePort) {
    this.#port = port
  }

  /** Starts to handle messages. */
  listen(handlers: MainChannelHandlers): void {
    this.#port.on('message', (message: string | ToWorker) => {
      if (typeof message !== 'string') return this.#handle(message, handlers)
      for (const event of JSON.parse(message) as ToWorker[]) this.#handle(event, handlers)
    })
  }

  async hold(request: HoldRequest): Promise<HoldResponse> {
    return (await this.#call((callId) => ({ kind: 'hold', callId, request }))) as HoldResponse
  }

  async takeTokenCount(id: string, keyId: string): Promise<RateStatus> {
    return (await this.sendControlRequest({ kind: 'take-rate-limit', id, key: keyId })) as RateStatus
  }

  async takeReplay(id: string, keyId: string): Promise<void> {
    await this.sendControlRequest({ kind: 'take-replay', id, key: keyId })
  }

  async balanceOf(account: string): Promise<bigint> {
    return ((await this.sendControlRequest({ kind: 'wallet', account, key: null })) as Wallet).balance
  }

  async extend(id: string, remaining: number): Promise<number> {
    return (await this.#call((callId) => ({ kind: 'extend', callId, id, remaining }))) as number
  }

  async mark(id: string, input: number, output: number): Promise<void> {
    await this.#call((callId) => ({ kind: 'mark', callId, id, input, output }))
  }

  async settle(request: SettleRequest, storedResponse: ResponseToStore | null): Promise<bigint> {
    // Sent at once, and therefore before the settlement, which is sent at the end of the turn.
    if (storedResponse) this.send({ kind: 'stored-response', id: request.id, storedResponse })
    return BigInt((await this.#call((callId) => ({ kind: 'settle', callId, request }))) as string)
  }

  reportRejection(rejection: Rejection): void {
    this.#sendBatched({ kind: 'rejected', rejection })
  }

  get lastDurableCommit(): number {
    return this.#durable
  }

  isDurable(commit: number): boolean {
    return commit <= this.#durable
  }

  whenDurable(commit: number): Promise<void> {
    if (commit <= this.#durable) return Promise.resolve()
    this.#sendBatched({ kind: 'flush', commit })
    const known = this.#commitWaiters.find((waiter) => waiter.commit === commit)
    if (known) return known.promise
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#commitWaiters.push({ commit, promise, resolve })
    return promise
  }

  async acquireReport(account: string): Promise<boolean> {
    const [callId, reply] = this.#registerCall()
    this.send({ kind: 'acquire-report', callId, account })
    return (await reply) as boolean
  }

  releaseReport(account: string): void {
    this.send({ kind: 'release-report', account })
  }

  /** Sends a request to the ControlHandler. Rejects with its ApiError. */
  sendControlRequest(request: ControlRequest): Promise<unknown> {
    const [callId, reply] = this.#registerCall()
    this.send({ kind: 'control', callId, request })
    return reply
  }

  /** Sends a message that is rare, or that JSON cannot represent, at once. */
  send(request: FromWorkerUnbatched): void {
    this.#port.postMessage(request)
  }

  /** Sends a message at the end of this turn of the event loop, in one text with all others of the turn. */
  #sendBatched(request: FromWorker): void {
    this.#batch.push(request)
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.flush())
  }

  /** Sends the messages of this turn now. */
  flush(): void {
    this.#isScheduled = false
    if (this.#batch.length === 0) return
    const messages = this.#batch
    this.#batch = []
    this.#port.postMessage(JSON.stringify(messages))
  }

  #registerCall(): [callId: number, reply: Promise<unknown>] {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    return [this.#pendingCalls.insert({ resolve, reject }), promise]
  }

  #call(make: (callId: number) => FromWorker): Promise<unknown> {
    const [callId, reply] = this.#registerCall()
    this.#sendBatched(make(callId))
    return reply
  }

  #handle(event: ToWorker, handlers: MainChannelHandlers): void {
    switch (event.kind) {
      case 'result':
        this.#pendingCalls.remove(event.callId)?.resolve(event.result)
        return
      case 'error':
        this.#pendingCalls.remove(event.callId)?.reject(apiError(event.code, event.detail))
        return
      case 'durable':
        this.#onDurable(event.commit)
        return
      case 'changed':
        void this.#reply(event.callId, handlers.onChanges(event.changes))
        return
      case 'collect-metrics':
        void this.#reply(event.callId, handlers.collectMetrics())
        return
      case 'state':
        handlers.onState(event.state)
        return
      case 'circuits':
        handlers.onCircuitChanges(event.changes)
        return
      case 'rejected-fields':
        handlers.onRejectedFields(event.records)
        return
      case 'reload-certificate':
        handlers.onReloadCertificate()
        return
      case 'listen':
        void handlers.onListen()
        return
      case 'drain':
        void handlers.onDrain()
        return
      case 'abort':
        handlers.onAbort()
    }
  }

  async #reply(callId: number, result: Promise<unknown>): Promise<void> {
    this.send({ kind: 'reply', callId, result: await result })
  }

  #onDurable(commit: number): void {
    this.#durable = commit
    if (this.#commitWaiters.length === 0) return
    const still: CommitWaiter[] = []
    for (const waiter of this.#commitWaiters) {
      if (waiter.commit > commit) still.push(waiter)
      else waiter.resolve()
    }
    this.#commitWaiters = still
  }
}
