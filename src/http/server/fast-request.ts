/** A request on the fast path. Its head has been parsed; its body is collected here. */
import type { ApiError } from '../../errors.ts'
import type { ResponseWriter } from '../../relay/response-writer.ts'
import type { IncomingRequest, HeaderName } from '../incoming-request.ts'
import { bodyTimeoutError, type BodyBudget } from '../body.ts'
import { BodyReceiver } from '../body-receiver.ts'
import type { CallerConnection } from './fast-response-writer.ts'
import type { RequestHead } from './request-head.ts'

export class FastRequest implements IncomingRequest {
  readonly #head: RequestHead
  readonly #connection: CallerConnection
  /** What has arrived before anybody asked for the body. */
  #chunks: Buffer[] = []
  #receivedBytes = 0
  #receiver: BodyReceiver | null = null
  #bodyPromise: PromiseWithResolvers<Buffer> | null = null
  /** The body was returned or rejected: further bytes are discarded. */
  #isSettled = false
  readonly method = 'POST'
  readonly query = ''
  /** A request with one is not for the fast path. */
  readonly relayHeaderNames = []

  constructor(head: RequestHead, connection: CallerConnection) {
    this.#head = head
    this.#connection = connection
  }

  get path(): string {
    return this.#head.path
  }

  get peer(): string | undefined {
    return this.#connection.socket.remoteAddress
  }

  get isComplete(): boolean {
    return this.#receivedBytes === this.#head.contentLength
  }

  /** False: nobody has requested the body yet, so the socket should be paused. */
  get isReading(): boolean {
    return this.#bodyPromise !== null || this.#isSettled
  }

  header(name: HeaderName): string | undefined {
    return this.#head.header(name)
  }

  body(budget: BodyBudget, accountId: string): Buffer | Promise<Buffer> {
    const { contentLength } = this.#head
    const receiver = new BodyReceiver(budget, { owner: accountId, contentLength })
    const chunks = this.#chunks
    this.#chunks = []
    try {
      for (const chunk of chunks) receiver.receive(chunk)
    } catch (error) {
      this.#isSettled = true
      receiver.abandon()
      throw error
    }
    this.#receiver = receiver
    if (this.isComplete) return this.#finishBody(receiver)
    this.#bodyPromise = Promise.withResolvers<Buffer>()
    this.#connection.socket.resume()
    return this.#bodyPromise.promise
  }

  respond(commonHeaders: readonly string[]): ResponseWriter {
    return this.#connection.respond(commonHeaders)
  }

  linger(): void {
    this.#discard()
    this.#connection.linger()
  }

  /** Returns how many of the bytes belong to this request. */
  receive(bytes: Buffer): number {
    const { contentLength } = this.#head
    const remaining = contentLength - this.#receivedBytes
    const chunk = bytes.length <= remaining ? bytes : bytes.subarray(0, remaining)
    try {
      if (!this.#isSettled && this.#receiver) this.#receiver.receive(chunk)
      else if (!this.#isSettled && chunk.length > 0) this.#chunks.push(chunk)
    } catch (error) {
      this.#reject(error)
    }
    this.#receivedBytes += chunk.length
    if (this.isComplete && !this.#isSettled && this.#receiver)
      this.#bodyPromise?.resolve(this.#finishBody(this.#receiver))
    return chunk.length
  }

  /** Rejects a pending `body()` whose rest is late. */
  checkTime(nowMs: number): void {
    if (this.#receiver && nowMs > this.#receiver.deadlineMs) this.fail(bodyTimeoutError)
  }

  /** The rest of the body will not arrive: rejects a pending `body()`. */
  fail(createError: () => ApiError): void {
    if (this.#bodyPromise !== null && !this.#isSettled) this.#reject(createError())
  }

  #reject(error: unknown): void {
    this.#discard()
    this.#receiver?.abandon()
    this.#bodyPromise?.reject(error)
  }

  /** What has arrived, and what still arrives, is not kept. */
  #discard(): void {
    this.#isSettled = true
    this.#chunks = []
  }

  #finishBody(receiver: BodyReceiver): Buffer | Promise<Buffer> {
    this.#isSettled = true
    return receiver.finish()
  }
}
