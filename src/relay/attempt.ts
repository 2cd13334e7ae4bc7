/**
 * One call of one upstream: phrased by its provider, sent, and awaited until it is an answer or a fault. The only
 * place that calls out on behalf of a request.
 */
import {
  headerLines,
  type AnswerHandler,
  type AnswerHeaders,
  type ConnectionFailure,
  type Exchange,
  type HttpClient,
} from '../lib/http-client.ts'
import type { Call, Outgoing, Provider } from '../providers/provider.ts'
import { isObject } from '../providers/usage.ts'
import { fault, faultOfError, faultOfStatus, errorIn, type Fault } from './fault.ts'
import { addressOf } from './upstream-address.ts'
import { UpstreamStream, type StreamSink } from './upstream-stream.ts'

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
  readonly timeouts: Timeouts
  /** The largest whole answer, and the largest event. */
  readonly maxAnswerBytes: number
  readonly now: () => number
}

export interface WholeAnswer {
  readonly kind: 'whole'
  /** As it goes to the caller: the upstream's own bytes, or the translation's. */
  readonly bytes: Buffer
  readonly json: unknown
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

function faultOfFailure(failure: ConnectionFailure): Fault {
  switch (failure.kind) {
    case 'forbidden_address':
      return fault('forbidden', 'The address of the upstream is not allowed.')
    case 'timeout':
      return fault('timeout', 'The upstream could not be reached in time.')
    case 'malformed':
      return fault('garbage', 'The upstream did not answer in HTTP.')
    default:
      return fault('connection', `The connection to the upstream failed (${failure.kind}).`)
  }
}

export class Attempt implements AnswerHandler {
  readonly #call: Call
  readonly #setting: AttemptSetting
  readonly #startedAt: number
  readonly #resolve: (result: AttemptResult) => void
  readonly result: Promise<AttemptResult>
  #exchange: Exchange | null = null
  #stream: UpstreamStream | null = null
  #timer: NodeJS.Timeout | null = null
  #chunks: Buffer[] = []
  #bytes = 0
  #retryAfter: string | null = null
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

  /** Sends the request; `result` tells what came of it. */
  send(): void {
    const { timeouts, client, provider } = this.#setting
    let outgoing: Outgoing
    try {
      outgoing = provider.ask(this.#call)
      const { origin, path } = addressOf(outgoing.url)
      this.#exchange = client.send(
        {
          origin,
          method: 'POST',
          path,
          headers: headerLines(outgoing.headers),
          body: outgoing.body,
          connectTimeoutMs: timeouts.connectMs,
        },
        this,
      )
    } catch (error) {
      // An address or a credential that cannot be sent: the upstream is set up wrongly.
      this.#fail(
        fault('forbidden', error instanceof Error ? error.message : 'The request could not be phrased.'),
      )
      return
    }
    const waitMs = this.#call.body.stream ? timeouts.firstTokenMs : timeouts.answerMs
    this.#timer = setTimeout(() => this.#onTimeout(), waitMs)
  }

  onHead(status: number, headers: AnswerHeaders): void {
    this.status = status
    this.#retryAfter = headers.get('retry-after')
    if (status === 200 && this.#call.body.stream && !(headers.get('content-type') ?? '').includes('json')) {
      const { provider, maxAnswerBytes } = this.#setting
      this.#stream = new UpstreamStream({
        translation: provider.translation?.stream(this.#call) ?? null,
        credential: this.#call.credential,
        maxEventBytes: maxAnswerBytes,
        onCommit: () => this.#onCommit(),
      })
    } else if (status === 200 && !this.#call.body.stream) {
      // Some providers send the head at once and think then: what they may take to answer, they may take now.
      const { answerMs, idleMs } = this.#setting.timeouts
      this.#restartTimer(Math.max(answerMs, idleMs))
    }
  }

  onData(chunk: Buffer): void {
    if (this.#stream) {
      if (this.#stream.isCommitted) this.#timer?.refresh()
      this.#stream.push(chunk)
      if (this.#stream.end !== null) this.#onStreamEnd()
      return
    }
    if (this.status === 200) this.#timer?.refresh()
    this.#bytes += chunk.length
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

  onEnd(): void {
    this.#clearTimer()
    if (this.#stream) {
      this.#stream.close()
      this.#onStreamEnd()
      return
    }
    this.#isOver = true
    this.#resolve(
      this.#wholeResult(this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks)),
    )
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

  #wholeResult(bytes: Buffer = Buffer.alloc(0)): AttemptResult {
    const status = this.status ?? 0
    const { credential } = this.#call
    if (status !== 200) {
      const about = { credential, retryAfter: this.#retryAfter, now: this.#setting.now() }
      return { kind: 'fault', fault: faultOfStatus(status, bytes.toString('utf8'), about) }
    }
    try {
      const json: unknown = JSON.parse(bytes.toString('utf8'))
      const { translation } = this.#setting.provider
      const isOfFormat = translation ? isObject(json) : hasChoices(json)
      if (this.#call.body.stream || isError(json) || !isOfFormat)
        return { kind: 'fault', fault: faultOfWhole(json, credential) }
      if (!translation) return { kind: 'whole', bytes, json }
      const translated = translation.whole(json, this.#call)
      return { kind: 'whole', bytes: Buffer.from(JSON.stringify(translated)), json: translated }
    } catch {
      return {
        kind: 'fault',
        fault: fault('garbage', 'The answer of the provider could not be read.', status),
      }
    }
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

function hasChoices(json: unknown): boolean {
  return isObject(json) && Array.isArray(json['choices'])
}

function isError(json: unknown): boolean {
  return errorIn(json) !== null && !hasChoices(json)
}

/** A body that is no answer: an error under 200, or JSON that is not what was asked for. */
function faultOfWhole(json: unknown, credential: string): Fault {
  return errorIn(json) === null
    ? fault('garbage', 'The answer of the provider is not of the format.', 200)
    : faultOfError(json, credential)
}
