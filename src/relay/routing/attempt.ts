/**
 * One call of one upstream: phrased by its provider, sent, and awaited until it is an answer or a fault. The only
 * place that calls out on behalf of a request.
 */
import { DecodedBody } from '../../lib/http-client/content-encoding.ts'
import {
  headerLines,
  type AnswerHandler,
  type AnswerHeaders,
  type ConnectionFailure,
  type Exchange,
  type HttpClient,
} from '../../lib/http-client/http-client.ts'
import type { Call, Provider } from '../../providers/provider.ts'
import type { Wording } from '../caller-format.ts'
import { fault, type AboutFailure, type Fault } from './upstream-error.ts'
import { faultOfFailure, faultOfSending } from '../fault-of-sending.ts'
import { signIn, signOut } from '../sign-in.ts'
import { addressOf } from '../upstream-address.ts'
import { UpstreamStream, type StreamSink } from '../streaming/upstream-stream.ts'
import { readWhole, type WholeAnswer } from '../whole-answer.ts'

export interface Timeouts {
  readonly connectMs: number
  readonly firstTokenMs: number
  readonly idleMs: number
  readonly answerMs: number
}

/** What an attempt needs beside the call. */
export interface AttemptSetting {
  readonly client: HttpClient
  readonly provider: Provider
  /** How the answer is told to the caller. */
  readonly wording: Wording
  readonly timeouts: Timeouts
  /** The proxy's address, where calls go through one. */
  readonly proxy: string | null
  /** The largest whole answer, and the largest event. */
  readonly maxAnswerBytes: number
  readonly now: () => number
}

export interface StreamedAnswer {
  readonly kind: 'stream'
  readonly stream: UpstreamStream
}

export type AttemptResult = WholeAnswer | StreamedAnswer | { readonly kind: 'fault'; readonly fault: Fault }

/** An error's body is read this far. */
const faultBytes = 65_536
/** How long a connection may take to end its answer after `[DONE]`. */
const lingerMs = 2000
/** So many bytes of a whole answer, and the time that it may be silent begins anew. */
const progressBytes = 1024

export class Attempt implements AnswerHandler {
  #call: Call
  readonly #setting: AttemptSetting
  readonly #startedAt: number
  readonly #resolve: (result: AttemptResult) => void
  readonly result: Promise<AttemptResult>
  #exchange: Exchange | null = null
  #decoded: DecodedBody | null = null
  #stream: UpstreamStream | null = null
  #timer: NodeJS.Timeout | null = null
  #chunks: Buffer[] = []
  #bytes = 0
  #refreshedBytes = 0
  #about: AboutFailure = { retryAfter: null, errorType: null }
  #isOver = false
  /** The upstream's status; `null` until it has answered. */
  status: number | null = null

  constructor(call: Call, setting: AttemptSetting) {
    this.#call = call
    this.#setting = setting
    this.#startedAt = setting.now()
    const { promise, resolve } = Promise.withResolvers<AttemptResult>()
    this.result = promise
    this.#resolve = resolve
  }

  /** Milliseconds since it was begun. */
  get ageMs(): number {
    return this.#setting.now() - this.#startedAt
  }

  /** Sends the request, after signing in where the provider wants that; `result` tells what came of it. */
  send(): void {
    const { timeouts, provider } = this.#setting
    const waitMs = this.#call.body.stream ? timeouts.firstTokenMs : timeouts.answerMs
    this.#timer = setTimeout(() => this.#onTimeout(), waitMs)
    if (!provider.signIn) {
      this.#ask()
      return
    }
    signIn(this.#call, this.#setting).then(
      (token) => this.#ask(token ?? undefined),
      (error: unknown) => this.#fail(faultOfSending(error)),
    )
  }

  #ask(token?: string): void {
    if (this.#isOver) return
    const { timeouts, client, provider, proxy } = this.#setting
    try {
      if (token !== undefined) this.#call = { ...this.#call, token }
      const outgoing = provider.ask(this.#call)
      const { origin, path } = addressOf(outgoing.url, proxy)
      const headers = headerLines(outgoing.headers)
      const { body } = outgoing
      const connectTimeoutMs = timeouts.connectMs
      this.#exchange = client.send({ origin, method: 'POST', path, headers, body, connectTimeoutMs }, this)
    } catch (error) {
      this.#fail(faultOfSending(error))
    }
  }

  onHead(status: number, headers: AnswerHeaders): void {
    this.status = status
    this.#about = { retryAfter: headers.get('retry-after'), errorType: headers.get('x-amzn-errortype') }
    const coding = headers.get('content-encoding')
    if (coding !== null) this.#decode(coding)
    if (status === 200 && this.#call.body.stream && !(headers.get('content-type') ?? '').includes('json')) {
      const { provider, wording, maxAnswerBytes } = this.#setting
      this.#stream = new UpstreamStream({
        translation: provider.translation ?? null,
        call: this.#call,
        wording,
        maxEventBytes: maxAnswerBytes,
        onCommit: () => this.#onCommit(),
      })
    } else if (status === 200 && !this.#call.body.stream) {
      // Some providers send the head at once and think then: what they may take to answer, they may take now.
      const { answerMs, idleMs } = this.#setting.timeouts
      this.#restartTimer(Math.max(answerMs, idleMs))
    }
  }

  /** It was asked not to, and some servers compress all the same. */
  #decode(coding: string): void {
    if (!this.#exchange) return
    this.#decoded = DecodedBody.of(coding, this.#exchange, {
      onData: (chunk) => this.#take(chunk),
      onEnd: () => this.#finish(),
      onBroken: (why) => this.#fail(fault('garbage', why)),
    })
    if (this.#decoded) this.#exchange = this.#decoded
  }

  onData(chunk: Buffer): void {
    if (this.#decoded) this.#decoded.push(chunk)
    else this.#take(chunk)
  }

  #take(chunk: Buffer): void {
    if (this.#stream) {
      if (this.#stream.isCommitted) this.#timer?.refresh()
      this.#stream.push(chunk)
      if (this.#stream.end !== null) this.#onStreamEnd()
      return
    }
    this.#bytes += chunk.length
    this.#refreshOnProgress()
    if (this.status !== 200) {
      if (this.#bytes <= faultBytes) this.#chunks.push(Buffer.from(chunk))
      return
    }
    if (this.#bytes > this.#setting.maxAnswerBytes) {
      this.#fail(fault('garbage', 'The answer of the provider is too large.'))
      return
    }
    this.#chunks.push(Buffer.from(chunk))
  }

  /** A whole answer that trickles in, byte by byte, is no progress: its time goes on running out. */
  #refreshOnProgress(): void {
    if (this.status !== 200 || this.#bytes - this.#refreshedBytes < progressBytes) return
    this.#refreshedBytes = this.#bytes
    this.#timer?.refresh()
  }

  onEnd(): void {
    if (this.#decoded) this.#decoded.end()
    else this.#finish()
  }

  #finish(): void {
    this.#clearTimer()
    if (this.#stream) {
      this.#stream.close()
      this.#onStreamEnd()
      return
    }
    this.#isOver = true
    const { provider, wording, now } = this.#setting
    const bytes = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks)
    const found = readWhole(
      { status: this.status ?? 0, bytes: bytes ?? Buffer.alloc(0), ...this.#about },
      { call: this.#call, provider, wording, now: now() },
    )
    if (provider.signIn && found.kind === 'fault' && found.fault.kind === 'credential') signOut(this.#call)
    this.#resolve(found)
  }

  onFail(failure: ConnectionFailure): void {
    this.#fail(faultOfFailure(failure))
  }

  /** From the commit on: events go to the sink. */
  attach(sink: StreamSink): void {
    this.#stream?.attach(sink)
  }

  pause(): void {
    this.#clearTimer()
    this.#exchange?.pause()
  }

  resume(): void {
    if (!this.#isOver) this.#restartTimer(this.#setting.timeouts.idleMs)
    this.#exchange?.resume()
  }

  /** As `destroy`, unless the answer is complete and only its framing is still to come. */
  destroyUnlessDone(): void {
    if (!this.#isOver) this.destroy()
  }

  /** Closes the connection; nothing more is told, but a pending `result` is a fault. */
  destroy(): void {
    this.#clearTimer()
    if (!this.#isOver) this.#exchange?.destroy()
    this.#isOver = true
    this.#resolve({ kind: 'fault', fault: fault('connection', 'The request was given up.') })
  }

  #onCommit(): void {
    this.#restartTimer(this.#setting.timeouts.idleMs)
    if (this.#stream) this.#resolve({ kind: 'stream', stream: this.#stream })
  }

  /** The stream has said all, by its own word or by the connection's end. */
  #onStreamEnd(): void {
    const stream = this.#stream
    if (!stream || this.#isOver) return
    this.#clearTimer()
    this.#isOver = true
    // A complete answer still has its framing to come, or the connection cannot be used again.
    if (stream.end === 'complete') this.#timer = setTimeout(() => this.#exchange?.destroy(), lingerMs)
    else this.#exchange?.destroy()
    if (stream.isCommitted) return
    const found = stream.end === 'complete' || stream.end === null ? null : stream.end
    this.#resolve({
      kind: 'fault',
      fault: found ?? fault('garbage', 'The stream of the provider was empty.'),
    })
  }

  #fail(found: Fault): void {
    if (this.#isOver) return
    this.#clearTimer()
    if (this.#stream) this.#stream.break(found)
    this.#exchange?.destroy()
    this.#isOver = true
    this.#resolve({ kind: 'fault', fault: found })
  }

  #onTimeout(): void {
    const what = this.#stream?.isCommitted
      ? 'The upstream fell silent.'
      : 'The upstream did not answer in time.'
    this.#fail(fault('timeout', what))
  }

  #restartTimer(afterMs: number): void {
    this.#clearTimer()
    this.#timer = setTimeout(() => this.#onTimeout(), afterMs)
  }

  #clearTimer(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
  }
}
