/**
 * One end of a typed connection between two threads. A call is declared once, as a method of an interface, and handled
 * once, by the object that implements it; the other thread calls it on a proxy.
 *
 * There are two kinds of calls. Calls of services are sent at once, by structured clone, and answered when the method has
 * resolved. Batched calls, which every request needs, are sent as one JSON text for each turn of the event loop: one
 * message wakes the other thread once, and a text costs half as much as copying objects between threads. Their handlers
 * answer them when they like, so that no call needs a promise in the thread that handles it. A service call that is sent
 * before a batched one arrives before it.
 *
 * Within one thread (local-port.ts) both kinds arrive at once.
 *
 * A call always has an outcome: an unknown one is an error, and if the other thread ends, all calls reject. A thread that
 * sends much, such as the pages of a ledger, awaits its earlier calls, so that no more than a few are under way.
 */
import { MessagePort, receiveMessageOnPort, type Transferable } from 'node:worker_threads'
import { apiError, type ApiError, type ApiErrorCode, type ApiErrorDetail } from '../errors.ts'
import { errorMessage } from '../lib/error-message.ts'
import { SlotMap } from '../lib/slot-map.ts'
import { LocalPort } from './local-port.ts'

/** In place of the id of a call whose result nobody waits for. */
const noReply = -1

export type Args<Method> = Method extends (...args: infer Given) => unknown ? Given : never
type Result<Method> = Method extends (...args: never[]) => infer Value ? Awaited<Value> : never
/** The handlers of batched calls; each answers with `Channel.reply`, unless the call is an event. */
export type BatchedHandlers<Calls> = {
  readonly [Name in keyof Calls]: (callId: number, ...args: Args<Calls[Name]>) => void
}
type Handler = (callId: number, ...args: unknown[]) => void

type Reply =
  | readonly ['result', callId: number, result: unknown]
  | readonly ['error', callId: number, failure: unknown]
type ServiceCall = readonly ['call', callId: number, service: string, method: string, args: unknown[]]
type ServiceMessage = Reply | ServiceCall
type BatchedCall = readonly ['call', callId: number, method: string, args: readonly unknown[]]
type BatchedMessage = Reply | BatchedCall
type Service = Readonly<Record<string, (...given: unknown[]) => unknown>>

interface PendingCall {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

/** The other thread has exited, or this end was closed, so there will be no result. */
export class ChannelClosedError extends Error {
  constructor() {
    super('The other thread has exited.')
    this.name = 'ChannelClosedError'
  }
}

/** How errors travel. */
export interface ErrorFormat {
  /** What the caller of a failed method gets. If it throws, this thread ends with an unhandled rejection. */
  encode(error: unknown): unknown
  /** Takes what `encode` returned. */
  decode(failure: unknown): Error
  /** The error of a call on a closed channel. */
  closed(): Error
}

/** Errors as their messages. */
export const plainErrors: ErrorFormat = {
  encode: errorMessage,
  decode: (message: string) => new Error(message),
  closed: () => new ChannelClosedError(),
}

/** For threads whose callers are handlers of requests. */
export function apiErrors(toApiError: (error: unknown) => ApiError): ErrorFormat {
  return {
    ...plainErrors,
    encode(error) {
      const { code, detail } = toApiError(error)
      return [code, detail]
    },
    decode: ([code, detail]: [ApiErrorCode, ApiErrorDetail]) => apiError(code, detail),
  }
}

/** A port, or the thread to which it leads. */
export interface Endpoint {
  postMessage(message: unknown, transferList?: readonly Transferable[]): void
  on(event: 'message', listener: (received: string | ServiceMessage) => void): unknown
  on(event: 'close', listener: () => void): unknown
  ref(): void
  unref(): void
  close?(): void
}

export interface LocalEnd<Calls> {
  /** Called by the other thread, by name. */
  readonly services?: Readonly<Record<string, object>>
  readonly batched?: BatchedHandlers<Calls>
  /** False: only a call without a result keeps this thread alive. */
  readonly keepsAlive?: boolean
}

/** `Services` and `Batched` are what the other thread handles. */
export class Channel<Services extends object, Batched extends object = object> {
  readonly #port: Endpoint
  readonly #errors: ErrorFormat
  readonly #pendingCalls = new SlotMap<PendingCall>()
  #services: Readonly<Record<string, object>> = {}
  #handlers: Readonly<Record<string, Handler>> = {}
  #keepsAlive = true
  #isClosed = false
  /** Calls of the other thread that are not answered. */
  #unanswered = 0
  #onAnswered: (() => void) | undefined
  #batch: BatchedMessage[] = []
  #isScheduled = false

  constructor(port: Endpoint, errors: ErrorFormat = plainErrors) {
    this.#port = port
    this.#errors = errors
  }

  /** Starts to handle messages. */
  serve<Calls>({ services = {}, batched, keepsAlive = true }: LocalEnd<Calls>): this {
    this.#services = services
    this.#handlers = (batched ?? {}) as Readonly<Record<string, Handler>>
    this.#keepsAlive = keepsAlive
    // What has already been sent arrives with the listener for messages, so it comes last.
    this.#port.on('close', () => this.close())
    if (this.#port instanceof LocalPort) this.#port.on('batched', (message) => this.#onBatched(message))
    this.#port.on('message', (received) => this.#onMessage(received))
    if (!keepsAlive) this.#port.unref()
    return this
  }

  /** A service of the other thread. Its methods reject as `ErrorFormat` says. Ports among their arguments are transferred. */
  proxy<Name extends keyof Services & string>(service: Name): Services[Name] {
    const methods: Record<string | symbol, unknown> = {}
    const proxy = new Proxy(methods, {
      get: (known, method) => {
        // A promise resolves with what has no `then`.
        if (typeof method !== 'string' || method === 'then') return undefined
        return (known[method] ??= this.#remoteMethod(service, method))
      },
    })
    return proxy as Services[Name]
  }

  /** The same with its methods as properties, for an object that is copied. */
  proxyOf<Name extends keyof Services & string>(service: Name, methods: readonly string[]): Services[Name] {
    const entries = methods.map((method) => [method, this.#remoteMethod(service, method)])
    return Object.fromEntries(entries) as Services[Name]
  }

  #remoteMethod(service: string, method: string) {
    return (...args: unknown[]): Promise<unknown> => {
      const [callId, result] = this.#registerCall()
      this.#send(['call', callId, service, method, args])
      return result
    }
  }

  /** Calls a method of a service without waiting for its result. */
  send<Service extends keyof Services & string, Method extends keyof Services[Service] & string>(
    service: Service,
    method: Method,
    ...args: Args<Services[Service][Method]>
  ): void {
    this.#send(['call', noReply, service, method, args])
  }

  callBatched<Method extends keyof Batched & string>(
    method: Method,
    ...args: Args<Batched[Method]>
  ): Promise<Result<Batched[Method]>> {
    const [callId, result] = this.#registerCall()
    this.#addToBatch(['call', callId, method, args])
    return result as Promise<Result<Batched[Method]>>
  }

  sendBatched<Method extends keyof Batched & string>(method: Method, ...args: Args<Batched[Method]>): void {
    this.#addToBatch(['call', noReply, method, args])
  }

  /** Answers a batched call, with the answers to others of this turn. */
  reply(callId: number, result: unknown): void {
    this.#addToBatch(['result', callId, result])
  }

  replyError(callId: number, error: ApiError): void {
    this.#addToBatch(['error', callId, this.#errors.encode(error)])
  }

  /** Sends the batched messages of this turn now. */
  flush(): void {
    this.#isScheduled = false
    if (this.#batch.length === 0) return
    const messages = this.#batch
    this.#batch = []
    this.#port.postMessage(JSON.stringify(messages))
  }

  /** Answers the calls of services that were sent before, and closes. */
  async finish(): Promise<void> {
    if (this.#port instanceof MessagePort) {
      for (let next = receiveMessageOnPort(this.#port); next; next = receiveMessageOnPort(this.#port))
        this.#onMessage(next.message as string | ServiceMessage)
    }
    if (this.#unanswered > 0) await new Promise<void>((resolve) => (this.#onAnswered = resolve))
    this.close()
  }

  /** Rejects all calls without a result, and later ones. */
  close(reason?: Error): void {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const { reject } of this.#pendingCalls) reject(reason ?? this.#errors.closed())
    this.#port.close?.()
  }

  #registerCall(): [callId: number, result: Promise<unknown>] {
    if (this.#isClosed) return [noReply, Promise.reject(this.#errors.closed())]
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const callId = this.#pendingCalls.insert({ resolve, reject })
    if (!this.#keepsAlive && this.#pendingCalls.size === 1) this.#port.ref()
    return [callId, promise]
  }

  #addToBatch(message: BatchedMessage): void {
    if (this.#isClosed) return
    if (this.#port instanceof LocalPort) return this.#port.sendBatched(message)
    this.#batch.push(message)
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.flush())
  }

  #send(message: ServiceMessage): void {
    if (this.#isClosed) return
    if (message[0] !== 'call') return this.#port.postMessage(message)
    this.#port.postMessage(
      message,
      message[4].filter((arg) => arg instanceof MessagePort),
    )
  }

  #onMessage(received: string | ServiceMessage): void {
    if (typeof received !== 'string') {
      if (received[0] === 'call') void this.#answer(received)
      else this.#onReply(received)
      return
    }
    for (const message of JSON.parse(received) as BatchedMessage[]) this.#onBatched(message)
  }

  #onBatched(message: BatchedMessage): void {
    if (message[0] === 'call') this.#onBatchedCall(message)
    else this.#onReply(message)
  }

  #onBatchedCall([, callId, method, args]: BatchedCall): void {
    const handlers = this.#handlers
    if (handlers[method] !== undefined) return handlers[method](callId, ...args)
    const error = new Error(`Unknown call: ${method}`)
    if (callId === noReply) throw error
    this.#addToBatch(['error', callId, this.#errors.encode(error)])
  }

  #onReply(reply: Reply): void {
    const call = this.#pendingCalls.remove(reply[1])
    if (!this.#keepsAlive && this.#pendingCalls.size === 0) this.#port.unref()
    if (reply[0] === 'result') call?.resolve(reply[2])
    else call?.reject(this.#errors.decode(reply[2]))
  }

  async #answer([, callId, service, method, args]: ServiceCall): Promise<void> {
    this.#unanswered += 1
    try {
      const target = this.#services[service] as Service | undefined
      const call = target?.[method]
      if (call === undefined) throw new Error(`Unknown call: ${service}.${method}`)
      const result = await call.apply(target, args)
      if (callId !== noReply) this.#send(['result', callId, result])
    } catch (error) {
      if (callId === noReply) throw error
      this.#send(['error', callId, this.#errors.encode(error)])
    } finally {
      this.#unanswered -= 1
      if (this.#unanswered === 0) this.#onAnswered?.()
    }
  }
}
