/**
 * One end of a typed connection between two threads. A call is declared once, as a method of an interface, and handled
 * once, by the object that implements it; the other thread calls it on a proxy.
 *
 * There are two kinds of calls. Calls of services are sent at once, by structured clone, and answered when the method has
 * resolved. Batched calls, which every request needs, are sent as one JSON text for each turn of the event loop: one
 * message wakes the other thread once, and a text costs half as much as copying objects between threads. Their handlers
 * answer them when they like, so that no call needs a promise in the thread that handles it. A service call that is sent
 * before a batched one arrives before it.
 */
import type { MessagePort } from 'node:worker_threads'
import { apiError, type ApiError, type ApiErrorCode, type ApiErrorDetail } from '../errors.ts'
import { SlotMap } from '../lib/slot-map.ts'

/** In place of the id of a call whose result nobody waits for. */
const noReply = -1

type Args<Method> = Method extends (...args: infer Given) => unknown ? Given : never
type Result<Method> = Method extends (...args: never[]) => infer Value ? Awaited<Value> : never
/** The handlers of batched calls; each answers with `Channel.reply`, unless the call is an event. */
export type BatchedHandlers<Calls> = {
  readonly [Name in keyof Calls]: (callId: number, ...args: Args<Calls[Name]>) => void
}
type Handler = (callId: number, ...args: unknown[]) => void

type Reply =
  | readonly ['result', callId: number, result: unknown]
  | readonly ['error', callId: number, code: ApiErrorCode, detail: ApiErrorDetail]
type ServiceMessage =
  | Reply
  | readonly ['call', callId: number, service: string, method: string, args: readonly unknown[]]
type BatchedMessage = Reply | readonly ['call', callId: number, method: string, args: readonly unknown[]]

interface PendingCall {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

/** The other thread has exited, so there will be no result. */
export class ChannelClosedError extends Error {
  constructor() {
    super('The other thread has exited.')
    this.name = 'ChannelClosedError'
  }
}

export interface LocalEnd<Calls> {
  /** Called by the other thread, by name. */
  readonly services: Readonly<Record<string, object>>
  readonly batched: BatchedHandlers<Calls>
  /** What the caller of a failed method gets. If it throws, this thread ends with an unhandled rejection. */
  readonly toApiError: (error: unknown) => ApiError
}

/** `Services` and `Batched` are what the other thread handles. */
export class Channel<Services extends object, Batched extends object> {
  readonly #port: MessagePort
  readonly #pendingCalls = new SlotMap<PendingCall>()
  #batch: BatchedMessage[] = []
  #isScheduled = false

  constructor(port: MessagePort) {
    this.#port = port
  }

  /** Starts to handle messages. */
  serve<Calls>({ services, batched, toApiError }: LocalEnd<Calls>): void {
    const handlers = batched as Readonly<Record<string, Handler>>
    this.#port.on('message', (received: string | ServiceMessage) => {
      if (typeof received === 'string') {
        for (const message of JSON.parse(received) as BatchedMessage[]) {
          if (message[0] === 'call') handlers[message[2]]?.(message[1], ...message[3])
          else this.#onReply(message)
        }
      } else if (received[0] === 'call') {
        const [, callId, service, method, args] = received
        const target = services[service] as Readonly<Record<string, (...given: unknown[]) => unknown>>
        void this.#answer(callId, () => target[method]?.(...args), toApiError)
      } else this.#onReply(received)
    })
  }

  /** A service of the other thread. Its methods reject with an `ApiError` or a `ChannelClosedError`. */
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

  replyError(callId: number, { code, detail }: ApiError): void {
    this.#addToBatch(['error', callId, code, detail])
  }

  /** Sends the batched messages of this turn now. */
  flush(): void {
    this.#isScheduled = false
    if (this.#batch.length === 0) return
    const messages = this.#batch
    this.#batch = []
    this.#port.postMessage(JSON.stringify(messages))
  }

  /** The other thread has exited. */
  close(): void {
    for (const { reject } of this.#pendingCalls) reject(new ChannelClosedError())
    this.#port.close()
  }

  #registerCall(): [callId: number, result: Promise<unknown>] {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    return [this.#pendingCalls.insert({ resolve, reject }), promise]
  }

  #addToBatch(message: BatchedMessage): void {
    this.#batch.push(message)
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.flush())
  }

  #send(message: ServiceMessage): void {
    this.#port.postMessage(message)
  }

  #onReply(reply: Reply): void {
    const call = this.#pendingCalls.remove(reply[1])
    if (reply[0] === 'result') call?.resolve(reply[2])
    else call?.reject(apiError(reply[2], reply[3]))
  }

  async #answer(
    callId: number,
    call: () => unknown,
    toApiError: LocalEnd<never>['toApiError'],
  ): Promise<void> {
    try {
      const result = await call()
      if (callId !== noReply) this.#send(['result', callId, result])
    } catch (error) {
      if (callId === noReply) throw error
      const { code, detail } = toApiError(error)
      this.#send(['error', callId, code, detail])
    }
  }
}
