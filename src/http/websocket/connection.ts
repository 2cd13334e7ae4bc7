/**
 * A WebSocket of one caller. Each frame that creates a response runs as a request of its own through the router, as if it
 * had come over HTTP. The key is checked every second, so that a revoked one ends even an idle connection.
 */
import type { Socket } from 'node:net'
import type { RawData, WebSocket } from 'ws'
import { apiError, asApiError, type ApiError } from '../../errors.ts'
import type { Caller } from '../../accounts/directory.ts'
import type { ApiKeyAuth } from '../api-key-auth.ts'
import { bodyTimeoutError, smallBodyBytes, type BodyBudget } from '../body.ts'
import { BodyClock } from '../body-receiver.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import { FrameRequest, type Handshake } from './frame-request.ts'
import { errorFrame, Lane, type LaneConnection } from './lane.ts'
import { RememberedResponses } from './remembered-responses.ts'
import { ResponseCreate } from './response-create.ts'

/** How many responses may run at once on a connection. OpenAI has the same bound. */
const maxLanes = 16

/** Of a control frame of a client: its head and its mask (RFC 6455, 5.2). */
const controlHeadBytes = 6

/** Codes of RFC 6455, 7.4.1. */
export const closeCodes = {
  normal: 1000,
  goingAway: 1001,
  policyViolation: 1008,
  tryAgainLater: 1013,
} as const

export interface ConnectionOptions {
  /** A client that reads nothing for this long is disconnected. */
  readonly slowClientMs: number
  /** After this time no response begins, and the connection is closed. */
  readonly maxAgeMs: number
  /** A client that has not answered a ping before the next one is disconnected. */
  readonly pingIntervalMs: number
}

/** Shared by all connections. */
export interface ConnectionContext {
  readonly options: ConnectionOptions
  readonly apiKeys: Pick<ApiKeyAuth, 'authenticateEither' | 'authorize'>
  /** For frames that are being received. */
  readonly bodies: BodyBudget
  /** For responses that can be continued. */
  readonly remembered: BodyBudget
  handleRequest(request: IncomingRequest): Promise<void>
  /** Whether the client can call a model. One that cannot sends small frames only. */
  hasFunds(client: Client): Promise<boolean>
}

/** Why a connection is closed once no response is running. `error` null: the client gets no error frame. */
interface Closing {
  readonly code: number
  readonly error: ApiError | null
}

export interface Client {
  readonly caller: Caller
  readonly handshake: Handshake
}

export class ResponsesConnection implements LaneConnection {
  readonly #webSocket: WebSocket
  readonly #socket: Socket
  readonly #client: Client
  readonly #context: ConnectionContext
  readonly remembered: RememberedResponses
  /** The running responses, by the names of their lanes. */
  readonly #lanes = new Map<string | null, FrameRequest>()
  readonly #openedMs = performance.now()
  #pingedMs = performance.now()
  #isAlive = true
  /** The bytes of a message that is incomplete, the time that it may take, and whether its client has funds. */
  #receivedBytes = 0
  #clock: BodyClock | null = null
  #funds: 'unknown' | 'asked' | 'sufficient' = 'unknown'
  #slowClientTimer: NodeJS.Timeout | null = null
  #closing: Closing | null = null

  constructor(webSocket: WebSocket, socket: Socket, client: Client, context: ConnectionContext) {
    this.#webSocket = webSocket
    this.#socket = socket
    this.#client = client
    this.#context = context
    this.remembered = new RememberedResponses(context.remembered, client.caller.accountId)
    webSocket.on('message', (data, isBinary) => this.#onMessage(data, isBinary))
    webSocket.on('ping', (data) => this.#onPing(data))
    webSocket.on('pong', (data) => this.#onControlFrame(data))
    webSocket.on('close', () => this.#onClose())
    // It closes the connection with the code for what is wrong with a frame.
    webSocket.on('error', () => {})
    socket.on('drain', () => this.#onDrain())
    // Before the bytes are parsed, so that a frame is reserved when it is complete.
    socket.prependListener('data', (chunk: Buffer) => this.#onData(chunk))
  }

  get accountId(): string {
    return this.#client.caller.accountId
  }

  /** Called about once a second. */
  sweep(nowMs: number): void {
    const { maxAgeMs, pingIntervalMs } = this.#context.options
    this.#checkKey()
    if (this.#clock && nowMs > this.#clock.deadlineMs) this.#reject(bodyTimeoutError())
    if (nowMs - this.#openedMs >= maxAgeMs) {
      this.closeWhenIdle(closeCodes.normal, apiError('websocket_connection_limit_reached'))
    }
    if (nowMs - this.#pingedMs < pingIntervalMs) return
    // Nothing is read from a client that does not read.
    if (!this.#isAlive && !this.#slowClientTimer) return this.destroy()
    this.#pingedMs = nowMs
    this.#isAlive = false
    this.#webSocket.ping()
  }

  /** Closes the connection as soon as no response is running; until then, no other one begins. */
  closeWhenIdle(code: number, error: ApiError | null): void {
    this.#closing ??= { code, error }
    if (this.#lanes.size === 0) this.#close(this.#closing)
  }

  send(json: string): boolean {
    if (this.#webSocket.readyState !== this.#webSocket.OPEN) return true
    this.#webSocket.send(json)
    return this.#limitUnread()
  }

  /** False: the client has not read what was sent. Nothing is read from it until it has. */
  #limitUnread(): boolean {
    if (!this.#socket.writableNeedDrain) return true
    if (!this.#slowClientTimer) {
      // What it sends could have further responses, such as errors.
      this.#webSocket.pause()
      this.#slowClientTimer = setTimeout(() => this.destroy(), this.#context.options.slowClientMs)
    }
    return false
  }

  laneEnded(streamId: string | null): void {
    this.#lanes.delete(streamId)
    if (this.#closing) this.closeWhenIdle(this.#closing.code, this.#closing.error)
  }

  destroy(): void {
    this.#webSocket.terminate()
  }

  #close({ code, error }: Closing): void {
    if (this.#webSocket.readyState !== this.#webSocket.OPEN) return
    if (error) this.#sendError(error, null)
    this.#webSocket.close(code)
  }

  /** Closes the connection if its key may not be used any more. */
  #checkKey(): void {
    const { apiKeys } = this.#context
    const { peer, header } = this.#client.handshake
    try {
      const caller = apiKeys.authenticateEither(header('x-api-key'), header('authorization'))
      if (!caller) throw apiError('invalid_api_key')
      apiKeys.authorize(caller, peer, header('x-forwarded-for'))
    } catch (error) {
      this.closeWhenIdle(closeCodes.policyViolation, asApiError(error))
    }
  }

  #onData(chunk: Buffer): void {
    this.#isAlive = true
    const { bodies } = this.#context
    const bytes = this.#receivedBytes + chunk.length
    try {
      bodies.reserve(this.accountId, chunk.length, bytes)
      this.#receivedBytes = bytes
      this.#clock ??= new BodyClock(bodies)
      this.#clock.advance(bytes)
      if (bytes >= smallBodyBytes && this.#funds === 'unknown') void this.#checkFunds()
    } catch (error) {
      this.#reject(asApiError(error))
    }
  }

  /** Nothing more is read from the client. */
  #reject(error: ApiError): void {
    this.#close({ code: closeCodes.tryAgainLater, error })
    this.#webSocket.pause()
  }

  /** Reads no more of a large message until it is known that its account has funds. */
  async #checkFunds(): Promise<void> {
    this.#funds = 'asked'
    this.#webSocket.pause()
    const hasFunds = await this.#context.hasFunds(this.#client).catch(() => false)
    if (!hasFunds) return this.#reject(apiError('insufficient_quota'))
    this.#funds = 'sufficient'
    if (!this.#slowClientTimer) this.#webSocket.resume()
  }

  /** A pong is unread output like any other. */
  #onPing(data: Buffer): void {
    this.#onControlFrame(data)
    if (this.#webSocket.readyState !== this.#webSocket.OPEN) return
    this.#webSocket.pong(data)
    this.#limitUnread()
  }

  /** A control frame may come between the frames of a message, and is no part of it. */
  #onControlFrame(data: Buffer): void {
    this.#isAlive = true
    this.#releaseReceived(Math.min(this.#receivedBytes, controlHeadBytes + data.length))
  }

  #releaseReceived(bytes = this.#receivedBytes): void {
    this.#context.bodies.release(this.accountId, bytes)
    this.#receivedBytes -= bytes
    if (this.#receivedBytes > 0) return
    this.#clock = null
    if (this.#funds === 'sufficient') this.#funds = 'unknown'
  }

  #onMessage(data: RawData, isBinary: boolean): void {
    this.#releaseReceived()
    this.#checkKey()
    if (this.#webSocket.readyState !== this.#webSocket.OPEN) return
    let streamId: string | null = null
    try {
      if (isBinary) throw apiError('invalid_request', { message: 'Send text frames, not binary ones.' })
      const frame = new ResponseCreate(data as Buffer)
      streamId = frame.streamId
      frame.requireType()
      this.#createResponse(frame, streamId)
    } catch (error) {
      this.#sendError(asApiError(error), streamId)
    }
  }

  #createResponse(frame: ResponseCreate, streamId: string | null): void {
    if (this.#closing) throw this.#closing.error ?? apiError('service_unavailable')
    if (this.#lanes.has(streamId)) {
      const message = 'A response is running. Wait for its end, or use another `stream_id`.'
      throw apiError('conflict', { param: 'stream_id', message })
    }
    if (this.#lanes.size >= maxLanes) throw apiError('websocket_stream_limit_reached', { param: 'stream_id' })
    const lane = new Lane(this, frame, streamId)
    const request = new FrameRequest(
      this.#client.handshake,
      { body: lane.body(), isWarmUp: frame.isWarmUp },
      lane,
    )
    this.#lanes.set(streamId, request)
    void this.#context.handleRequest(request)
  }

  #sendError(error: ApiError, streamId: string | null): void {
    this.send(errorFrame(error.status, error.toBody().error, streamId))
  }

  #onDrain(): void {
    if (!this.#slowClientTimer) return
    clearTimeout(this.#slowClientTimer)
    this.#slowClientTimer = null
    if (this.#funds !== 'asked') this.#webSocket.resume()
    for (const { writer } of this.#lanes.values()) writer?.onDrain?.()
  }

  #onClose(): void {
    if (this.#slowClientTimer) clearTimeout(this.#slowClientTimer)
    this.#releaseReceived()
    this.remembered.clear()
    for (const { writer } of this.#lanes.values()) writer?.disconnect()
    this.#lanes.clear()
  }
}
