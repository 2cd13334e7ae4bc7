/** The request for which a frame stands, and the writer that turns its response into frames. */
import { eventType } from '../../formats/responses-passthrough.ts'
import { SseParser } from '../../lib/sse/sse-parser.ts'
import type { ResponseWriter } from '../../relay/response-writer.ts'
import type { BodyBudget } from '../body.ts'
import type { HeaderName, IncomingRequest } from '../incoming-request.ts'

const doneMarker = '[DONE]'

/** What the handshake of a connection says about its client. */
export type Handshake = Pick<IncomingRequest, 'peer' | 'header'>

/** Where the response to a frame goes. */
export interface FrameSink {
  /** An event of the response, as JSON. False: wait for `onDrain`. */
  sendEvent(type: string, json: string): boolean
  /** The response is an error with this body and these headers, as a flat list. */
  sendError(status: number, headers: readonly string[], body: string): void
  /** The response has ended. */
  end(): void
  /** Destroys the connection. */
  destroy(): void
}

/** Of the headers of the handshake, the request has only those that say who the caller is. */
const inheritedHeaders: ReadonlySet<HeaderName> = new Set(['authorization', 'x-api-key', 'x-forwarded-for'])

export class FrameRequest implements IncomingRequest {
  readonly #handshake: Handshake
  readonly #body: Buffer
  readonly #sink: FrameSink
  readonly method = 'POST'
  readonly path = '/v1/responses'
  readonly query = ''
  readonly relayHeaderNames = []
  readonly isComplete = true
  readonly isWarmUp: boolean
  /** `null` until the router has asked for it. */
  writer: FrameResponseWriter | null = null

  constructor(
    handshake: Handshake,
    { body, isWarmUp }: { body: Buffer; isWarmUp: boolean },
    sink: FrameSink,
  ) {
    this.#handshake = handshake
    this.#body = body
    this.#sink = sink
    this.isWarmUp = isWarmUp
  }

  get peer(): string | undefined {
    return this.#handshake.peer
  }

  header(name: HeaderName): string | undefined {
    return inheritedHeaders.has(name) ? this.#handshake.header(name) : undefined
  }

  body(budget: BodyBudget, accountId: string): Buffer {
    const { length } = this.#body
    budget.check(length)
    budget.reserve(accountId, length, length)
    return this.#body
  }

  respond(commonHeaders: readonly string[]): ResponseWriter {
    this.writer = new FrameResponseWriter(this.#sink, commonHeaders)
    return this.writer
  }

  linger(): void {}
}

export class FrameResponseWriter implements ResponseWriter {
  readonly #sink: FrameSink
  readonly #commonHeaders: readonly string[]
  readonly #parser: SseParser
  #isEnded = false
  #isWritable = true
  isDisconnected = false
  isStarted = false
  onDisconnect: (() => void) | null = null
  onDrain: (() => void) | null = null

  /** `commonHeaders`: headers of every response, as a flat list. */
  constructor(sink: FrameSink, commonHeaders: readonly string[]) {
    this.#sink = sink
    this.#commonHeaders = commonHeaders
    this.#parser = new SseParser((event) => {
      if (!event.hasData || event.text === doneMarker) return
      this.#isWritable = sink.sendEvent(eventType(event), event.text)
    })
  }

  send(status: number, headers: readonly string[], body: Buffer | string): void {
    if (this.isDisconnected || this.isStarted) return
    this.isStarted = true
    this.#isEnded = true
    this.#sink.sendError(status, [...headers, ...this.#commonHeaders], body.toString())
    this.#sink.end()
  }

  start(): void {
    this.isStarted = true
  }

  write(bytes: Buffer): boolean {
    if (this.isDisconnected || this.#isEnded) return true
    this.#isWritable = true
    this.#parser.push(bytes)
    return this.#isWritable
  }

  end(): void {
    if (this.isDisconnected || this.#isEnded) return
    this.#isEnded = true
    this.#sink.end()
  }

  abort(): void {
    this.end()
  }

  destroy(): void {
    if (!this.#isEnded) this.#sink.destroy()
  }

  /** Called when the caller has disconnected. */
  disconnect(): void {
    if (this.isDisconnected || this.#isEnded) return
    this.isDisconnected = true
    this.onDisconnect?.()
  }
}
