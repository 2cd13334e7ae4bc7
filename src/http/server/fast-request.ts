/** A request on the fast path. Its head has been parsed; its body is collected here. */
import type { ApiError } from '../../errors.ts'
import type { ResponseWriter } from '../../relay/response-writer.ts'
import type { IncomingRequest, HeaderName } from '../incoming-request.ts'
import type { BodyBudget } from '../body.ts'
import type { CallerConnection } from './fast-response-writer.ts'
import type { RequestHead } from './request-head.ts'

export class FastRequest implements IncomingRequest {
  readonly #head: RequestHead
  readonly #connection: CallerConnection
  #chunks: Buffer[] = []
  #receivedBytes = 0
  #budget: BodyBudget | null = null
  #accountId = ''
  #bodyPromise: PromiseWithResolvers<Buffer> | null = null
  /** The body was returned or rejected: further bytes are discarded. */
  #isSettled = false
  readonly method = 'POST'
  readonly query = ''

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

  get receivedBytes(): number {
    return this.#receivedBytes
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
    budget.check(contentLength)
    budget.reserve(accountId, this.#receivedBytes, contentLength)
    this.#budget = budget
    this.#accountId = accountId
    if (this.isComplete) return this.#concatBody()
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
      if (!this.#isSettled) this.#budget?.reserve(this.#accountId, chunk.length, contentLength)
      if (!this.#isSettled && chunk.length > 0) this.#chunks.push(chunk)
    } catch (error) {
      this.#reject(error)
    }
    this.#receivedBytes += chunk.length
    if (this.isComplete && !this.#isSettled) this.#bodyPromise?.resolve(this.#concatBody())
    return chunk.length
  }

  /** The rest of the body will not arrive: rejects a pending `body()`. */
  fail(createError: () => ApiError): void {
    if (this.#bodyPromise !== null && !this.#isSettled) this.#reject(createError())
  }

  #reject(error: unknown): void {
    this.#discard()
    this.#budget?.release(this.#accountId, this.#receivedBytes)
    this.#bodyPromise?.reject(error)
  }

  /** What has arrived, and what still arrives, is not kept. */
  #discard(): void {
    this.#isSettled = true
    this.#chunks = []
  }

  #concatBody(): Buffer {
    this.#isSettled = true
    const [first] = this.#chunks
    const body = this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks, this.#receivedBytes)
    this.#chunks = []
    return body
  }
}
