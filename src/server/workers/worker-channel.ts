/**
 * The main thread's channel to one worker: calls and their replies, and messages that are batched for one turn of the
 * event loop. Subclasses handle the requests of the ledger.
 */
import type { MessagePort } from 'node:worker_threads'
import { toApiError } from '../../db/store-error.ts'
import type { CircuitChange } from '../../health/call-reports.ts'
import type { ResponseToStore } from '../../relay/ledger-client.ts'
import type { RejectedFieldRecord } from '../../relay/routing/rejected-fields.ts'
import type { KeyUsage } from './key-usage.ts'
import type { ReportSlots } from './report-slots.ts'
import type { RejectionRecorder } from './rejection-recorder.ts'
import type { UpstreamHealth } from '../upstreams/upstream-health.ts'
import type { FromWorker, NodeState, ControlRequest, FromWorkerUnbatched, ToWorker } from './protocol.ts'

export interface WorkerChannelHandlers {
  /** Throws an ApiError. */
  readonly handleControlRequest: (request: ControlRequest) => Promise<unknown>
  readonly keyUsage: KeyUsage
  readonly rejections: RejectionRecorder
  readonly reportSlots: ReportSlots
  readonly health: UpstreamHealth
  readonly onReady: () => void
  readonly onListening: () => void
  /** A model of an upstream has rejected a field. */
  readonly onRejectedField: (record: RejectedFieldRecord) => void
  readonly onIdle: () => void
}

export abstract class WorkerChannel {
  protected readonly handlers: WorkerChannelHandlers
  readonly #port: MessagePort
  /** Responses to store that arrived before their settlements. */
  readonly #storedResponses = new Map<string, ResponseToStore>()
  readonly #pendingReplies = new Map<number, (result: unknown) => void>()
  #batch: ToWorker[] = []
  #isScheduled = false
  #nextCallId = 1

  constructor(port: MessagePort, handlers: WorkerChannelHandlers) {
    this.#port = port
    this.handlers = handlers
    port.on('message', (message: string | FromWorkerUnbatched) => {
      if (typeof message !== 'string') return this.#handleUnbatched(message)
      for (const request of JSON.parse(message) as FromWorker[]) this.handle(request)
    })
  }

  /** Handles a worker's request to the ledger. */
  protected abstract handle(request: FromWorker): void

  /** A commit is on disk. */
  abstract onDurable(commit: number): void

  /** The store has rejected commits for too long: fails all calls that wait for one. */
  abstract failPending(): void

  /** These circuits have changed. */
  sendCircuitChanges(changes: readonly CircuitChange[]): void {
    this.#sendUnbatched({ kind: 'circuits', changes })
  }

  /** Models of upstreams reject these fields. */
  sendRejectedFields(records: readonly RejectedFieldRecord[]): void {
    this.#sendUnbatched({ kind: 'rejected-fields', records })
  }

  sendState(state: NodeState): void {
    this.#sendUnbatched({ kind: 'state', state })
  }

  reloadCertificate(): void {
    this.#sendUnbatched({ kind: 'reload-certificate' })
  }

  /** Makes the worker open its port. */
  listen(): void {
    this.#sendUnbatched({ kind: 'listen' })
  }

  drain(): void {
    this.#sendUnbatched({ kind: 'drain' })
  }

  abort(): void {
    this.#sendUnbatched({ kind: 'abort' })
  }

  /** Resolves with the worker's reply; `undefined` if it exits. */
  request(message: (callId: number) => ToWorker): Promise<unknown> {
    const callId = this.#nextCallId++
    const { promise, resolve } = Promise.withResolvers<unknown>()
    this.#pendingReplies.set(callId, resolve)
    this.#sendUnbatched(message(callId))
    return promise
  }

  /** The worker has exited. */
  close(): void {
    for (const resolve of this.#pendingReplies.values()) resolve(undefined)
    this.#pendingReplies.clear()
    this.handlers.reportSlots.releaseAll(this)
    this.#port.close()
  }

  /** The response to store for a request; removes it. */
  protected takeStoredResponse(id: string): ResponseToStore | null {
    const storedResponse = this.#storedResponses.get(id) ?? null
    if (storedResponse) this.#storedResponses.delete(id)
    return storedResponse
  }

  #handleUnbatched(request: FromWorkerUnbatched): void {
    switch (request.kind) {
      case 'control':
        void this.#handleControlRequest(request.callId, request.request)
        return undefined
      case 'stored-response':
        this.#storedResponses.set(request.id, request.storedResponse)
        return undefined
      case 'reply': {
        const resolve = this.#pendingReplies.get(request.callId)
        this.#pendingReplies.delete(request.callId)
        return resolve?.(request.result)
      }
      case 'acquire-report':
        void this.#acquireReport(request.callId, request.account)
        return undefined
      case 'release-report':
        return this.handlers.reportSlots.release(request.account, this)
      case 'successes':
      case 'success':
      case 'failure':
        return this.handlers.health.onWorkerReport(request)
      case 'rejected-field':
        return this.handlers.onRejectedField(request.record)
      case 'ready':
        return this.handlers.onReady()
      case 'listening':
        return this.handlers.onListening()
      case 'idle':
        return this.handlers.onIdle()
    }
  }

  async #acquireReport(callId: number, account: string): Promise<void> {
    const result = await this.handlers.reportSlots.acquire(account, this)
    this.#sendUnbatched({ kind: 'result', callId, result })
  }

  async #handleControlRequest(callId: number, request: ControlRequest): Promise<void> {
    try {
      this.#sendUnbatched({
        kind: 'result',
        callId,
        result: await this.handlers.handleControlRequest(request),
      })
    } catch (error) {
      const { code, detail } = toApiError(error)
      this.#sendUnbatched({ kind: 'error', callId, code, detail })
    }
  }

  protected sendError(callId: number, code: 'service_unavailable'): void {
    this.sendBatched({ kind: 'error', callId, code, detail: {} })
  }

  /** Sends a message that is rare, or that JSON cannot represent, at once. */
  #sendUnbatched(message: ToWorker): void {
    this.#port.postMessage(message)
  }

  /** Sends a message at the end of this turn of the event loop, in one text with all others of the turn. */
  protected sendBatched(message: ToWorker): void {
    this.#batch.push(message)
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#flush())
  }

  /** Sends these messages at once, with all that are batched. */
  protected sendNow(messages: readonly ToWorker[]): void {
    for (const message of messages) this.#batch.push(message)
    this.#flush()
  }

  #flush(): void {
    this.#isScheduled = false
    if (this.#batch.length === 0) return
    const messages = this.#batch
    this.#batch = []
    this.#port.postMessage(JSON.stringify(messages))
  }
}
