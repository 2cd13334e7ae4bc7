/** A request of the fast lane, as the doors see it: its head has been read, its body gathers here. */
import type { Refusal } from '../errors.ts'
import type { CallerExchange } from '../relay/exchange.ts'
import type { Arrival, HeaderName } from './incoming-request.ts'
import type { BodyBudget } from './body.ts'
import type { RequestHead } from './server/request-head.ts'

/** The connection that a request came on. */
export interface ArrivalWay {
  readonly peer: string | undefined
  reply(common: readonly string[]): CallerExchange
  /** The body is waited for. */
  readOn(): void
  linger(): void
}

export class FastArrival implements Arrival {
  readonly #head: RequestHead
  readonly #way: ArrivalWay
  #pieces: Buffer[] = []
  #haveBytes = 0
  #budget: BodyBudget | null = null
  #asked: PromiseWithResolvers<Buffer> | null = null
  /** The body was handed out or refused: what still comes of it is dropped. */
  #isSettled = false
  readonly method = 'POST'
  readonly query = ''

  constructor(head: RequestHead, way: ArrivalWay) {
    this.#head = head
    this.#way = way
  }

  get path(): string {
    return this.#head.path
  }

  get peer(): string | undefined {
    return this.#way.peer
  }

  get isComplete(): boolean {
    return this.#haveBytes === this.#head.contentLength
  }

  /** Whether bytes that come now have somewhere to go. */
  get isReading(): boolean {
    return this.#asked !== null || this.#isSettled
  }

  header(name: HeaderName): string | undefined {
    return this.#head.header(name)
  }

  body(budget: BodyBudget): Buffer | Promise<Buffer> {
    budget.check(this.#head.contentLength)
    budget.take(this.#haveBytes)
    this.#budget = budget
    if (this.isComplete) return this.#whole()
    this.#asked = Promise.withResolvers<Buffer>()
    this.#way.readOn()
    return this.#asked.promise
  }

  reply(common: readonly string[]): CallerExchange {
    return this.#way.reply(common)
  }

  linger(): void {
    this.#way.linger()
  }

  /** Takes in bytes that came. Returns how many of them belong to this request. */
  take(bytes: Buffer): number {
    const missing = this.#head.contentLength - this.#haveBytes
    const piece = bytes.length <= missing ? bytes : bytes.subarray(0, missing)
    try {
      if (!this.#isSettled) this.#budget?.take(piece.length)
      if (!this.#isSettled && piece.length > 0) this.#pieces.push(piece)
    } catch (error) {
      this.#reject(error)
    }
    this.#haveBytes += piece.length
    if (this.isComplete && !this.#isSettled) this.#asked?.resolve(this.#whole())
    return piece.length
  }

  /** The body will not come: who waits for it is told why. */
  fail(why: () => Refusal): void {
    if (this.#asked !== null && !this.#isSettled) this.#reject(why())
  }

  #reject(error: unknown): void {
    this.#isSettled = true
    this.#budget?.release(this.#haveBytes)
    this.#pieces = []
    this.#asked?.reject(error)
  }

  #whole(): Buffer {
    this.#isSettled = true
    const [first] = this.#pieces
    const whole = this.#pieces.length === 1 && first ? first : Buffer.concat(this.#pieces, this.#haveBytes)
    this.#pieces = []
    return whole
  }
}
