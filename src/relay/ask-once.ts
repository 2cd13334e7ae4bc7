/**
 * One small call of a provider beside the requests of callers: for a token, for the list of its models. The answer
 * comes whole, bounded in bytes and time.
 */
import { decodedWhole } from '../lib/http-client/content-encoding.ts'
import {
  headerLines,
  type AnswerHandler,
  type AnswerHeaders,
  type HttpClient,
} from '../lib/http-client/http-client.ts'
import type { Outgoing } from '../providers/provider.ts'
import { CallFailed, faultOfFailure } from './fault-of-sending.ts'
import { fault } from './routing/upstream-error.ts'
import { addressOf } from './upstream-address.ts'

export interface SmallCall extends Outgoing {
  readonly method: 'GET' | 'POST'
  /** An answer that is longer is cut there. */
  readonly mostBytes: number
}

export interface CallMeans {
  readonly client: HttpClient
  readonly timeouts: { readonly connectMs: number }
  readonly proxy: string | null
}

export interface SmallAnswer {
  readonly status: number
  readonly bytes: Buffer
  readonly retryAfter: string | null
}

const answerWithinMs = 30_000

/** Rejects with CallFailed when no answer came; throws TypeError for an address or a header that cannot be sent. */
export async function askOnce(call: SmallCall, means: CallMeans): Promise<SmallAnswer> {
  const { origin, path } = addressOf(call.url, means.proxy)
  const headers = headerLines(call.headers)
  const { method, body } = call
  const { connectMs: connectTimeoutMs } = means.timeouts
  const answer = new Collected(call.mostBytes)
  const exchange = means.client.send({ origin, method, path, headers, body, connectTimeoutMs }, answer)
  const timer = setTimeout(() => {
    exchange.destroy()
    answer.giveUp()
  }, answerWithinMs)
  try {
    return await answer.whole
  } finally {
    clearTimeout(timer)
  }
}

class Collected implements AnswerHandler {
  readonly whole: Promise<SmallAnswer>
  readonly #resolve: (answer: SmallAnswer) => void
  readonly #reject: (error: CallFailed) => void
  readonly #mostBytes: number
  readonly #chunks: Buffer[] = []
  #bytes = 0
  #status = 0
  #retryAfter: string | null = null
  #coding: string | null = null

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes
    const { promise, resolve, reject } = Promise.withResolvers<SmallAnswer>()
    this.whole = promise
    this.#resolve = resolve
    this.#reject = reject
  }

  giveUp(): void {
    this.#reject(new CallFailed(fault('timeout', 'The provider took too long to answer.')))
  }

  onHead(status: number, headers: AnswerHeaders): void {
    this.#status = status
    this.#retryAfter = headers.get('retry-after')
    this.#coding = headers.get('content-encoding')
  }

  onData(chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#bytes <= this.#mostBytes) this.#chunks.push(Buffer.from(chunk))
  }

  onEnd(): void {
    const received = Buffer.concat(this.#chunks)
    const decoded = this.#coding === null ? received : decodedWhole(this.#coding, received, this.#mostBytes)
    Promise.resolve(decoded).then(
      (bytes) => this.#resolve({ status: this.#status, bytes, retryAfter: this.#retryAfter }),
      () =>
        this.#reject(new CallFailed(fault('garbage', 'The answer of the provider could not be decoded.'))),
    )
  }

  onFail(failure: Parameters<typeof faultOfFailure>[0]): void {
    this.#reject(new CallFailed(faultOfFailure(failure)))
  }
}
