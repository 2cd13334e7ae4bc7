/**
 * One call of one upstream: the provider builds the request, this sends it and waits for a response or an error.
 * No other module calls upstreams on behalf of a request.
 */
import { DecodedBody } from '../../lib/http-client/content-encoding.ts'
import {
  encodeHeaders,
  type ResponseHandler,
  type ResponseHeaders,
  type ConnectionFailure,
  type Exchange,
} from '../../lib/http-client/http-client.ts'
import type { AttemptDeps } from '../request-context.ts'
import type { AttemptCall } from './attempt-call.ts'
import type { AttemptResult, RequestAttempt } from './attempt-result.ts'
import { secretsOf } from './secrets.ts'
import { upstreamError, type UpstreamError } from './upstream-error.ts'
import { upstreamRequestId } from './failure-details.ts'
import {
  parseUpstreamUrl,
  upstreamErrorFromConnection,
  upstreamErrorFromException,
} from './upstream-transport.ts'
import { getAccessToken, discardAccessToken } from './access-token.ts'
import { UpstreamStream } from '../streaming/upstream-stream.ts'
import type { UsageMeter } from '../streaming/usage-meter.ts'
import { readBufferedResponse, type ReceivedResponse } from './buffered-response.ts'
import { maxErrorBodyBytes, ReceivedBody } from './received-body.ts'
import { detectForm, isArray, type ResponseForm } from './response-form.ts'
import { canCollect, CollectedEncoding } from '../request/collected-encoding.ts'
import { servedResponse, type ServedResponse } from './served-response.ts'
import { withAddedFields } from '../../providers/added-fields.ts'
import type { ResponseIdentity } from '../../providers/provider.ts'

/** How long a response may take to end after `[DONE]`. */
const lingerMs = 2000
/** How many times larger than a buffered response a stream may be: each token comes in an event of its own. */
const streamOverhead = 4
/** An upstream that has had a request for longer has probably begun to work, and bills its input. */
const freeResponseMs = 1000

type ResponseReader = (received: ReceivedResponse, call: AttemptCall, now: number) => AttemptResult

export class UpstreamAttempt implements RequestAttempt, ResponseHandler {
  #call: AttemptCall
  readonly #read: ResponseReader
  readonly #deps: AttemptDeps
  readonly #resolve: (result: AttemptResult) => void
  readonly result: Promise<AttemptResult>
  #exchange: Exchange | null = null
  #decoded: DecodedBody | null = null
  #stream: UpstreamStream | null = null
  #timer: NodeJS.Timeout | null = null
  readonly #body = new ReceivedBody()
  #headerSection = ''
  #identity: ResponseIdentity | null = null
  #isOver = false
  /** `null`: the body has not shown it yet. */
  #form: ReturnType<typeof detectForm> = null
  unexpectedForm: ResponseForm | null = null
  /** The upstream's status; `null` until its response starts. */
  status: number | null = null
  /** Milliseconds from the call to the first content of a stream; `null`: there is none yet. */
  firstContentMs: number | null = null
  /** When the request was written to the connected upstream, and when it was destroyed before it was over. */
  #writtenMs = Infinity
  #canceledMs: number | null = null

  constructor(deps: AttemptDeps, call: AttemptCall, read: ResponseReader = readBufferedResponse) {
    this.#deps = deps
    this.#call = call
    this.#read = read
    const { promise, resolve } = Promise.withResolvers<AttemptResult>()
    this.result = promise
    this.#resolve = resolve
  }

  /** Milliseconds since the call was made. */
  get ageMs(): number {
    return this.#deps.now() - this.#call.nowMs
  }

  get wasCanceledAtCost(): boolean {
    const canceledMs = this.#canceledMs
    if (canceledMs === null) return false
    return this.status === null
      ? canceledMs - this.#writtenMs > freeResponseMs
      : this.status >= 200 && this.status < 300
  }

  /** The id under which the upstream knows the call; `undefined`: it sent none. */
  get upstreamRequestId(): string | undefined {
    return upstreamRequestId(this.#headerSection, secretsOf(this.#call))
  }

  /** What the upstream has said about its response. */
  get served(): ServedResponse {
    const identity = this.#identity ?? this.#stream?.identity
    const id = identity?.id || this.upstreamRequestId
    return servedResponse({ ...identity, id }, secretsOf(this.#call))
  }

  /** Sends the request, after getting an access token if the provider needs one; `result` resolves with the outcome. */
  send(): void {
    const { timeouts, provider, body } = this.#call
    this.#restartTimer(body.stream ? timeouts.firstTokenMs : timeouts.answerMs)
    if (!provider.buildTokenRequest) {
      this.#sendRequest()
      return
    }
    getAccessToken(this.#deps, this.#call).then(
      (token) => this.#sendRequest(token ?? undefined),
      (error: unknown) => this.#fail(upstreamErrorFromException(error)),
    )
  }

  #sendRequest(token?: string): void {
    if (this.#isOver) return
    const { timeouts, provider, proxy } = this.#call
    try {
      if (token !== undefined) this.#call = { ...this.#call, token }
      const outgoing = withAddedFields(provider.buildRequest(this.#call), this.#call.added)
      const { origin, path } = parseUpstreamUrl(outgoing.url, proxy)
      const headers = encodeHeaders(outgoing.headers)
      const connectTimeoutMs = timeouts.connectMs
      this.#exchange = this.#deps.client.send(
        { origin, method: 'POST', path, headers, body: outgoing.body, connectTimeoutMs },
        this,
      )
    } catch (error) {
      this.#fail(upstreamErrorFromException(error))
    }
  }

  onWrite(): void {
    this.#writtenMs = performance.now()
  }

  onHead(status: number, headers: ResponseHeaders): void {
    this.status = status
    this.#headerSection = headers.text
    const coding = headers.get('content-encoding')
    if (coding !== null) this.#decode(coding)
    const { stream } = this.#call.body
    if (status === 200 && stream && !(headers.get('content-type') ?? '').includes('json')) this.#openStream()
    else if (status === 200 && !stream) {
      // Some providers send the head at once and generate afterwards: they get the whole response timeout now.
      const { answerMs, idleMs } = this.#call.timeouts
      this.#restartTimer(Math.max(answerMs, idleMs))
    }
  }

  /** Whatever was asked for and whatever the label says, the first bytes decide how the response is read. */
  #detectForm(chunk: Buffer): void {
    this.#form = detectForm(chunk)
    if (this.#form === 'json') this.#stream = null
    else if (this.#form === 'stream' && !this.#stream) {
      const { body } = this.#call
      if (body.stream) return this.#openStream()
      if (!canCollect(body)) return
      this.#call = { ...this.#call, body: new CollectedEncoding(body) }
      this.unexpectedForm = 'stream'
      this.#openStream()
    }
  }

  #openStream(): void {
    try {
      this.#stream = new UpstreamStream(this.#call, this.#deps.maxResponseBytes, this)
    } catch (error) {
      this.#fail(upstreamErrorFromException(error))
    }
  }

  /** Some servers compress although they were asked not to. */
  #decode(coding: string): void {
    if (!this.#exchange) return
    this.#decoded = DecodedBody.create(coding, this.#exchange, {
      onData: (chunk) => this.#receive(chunk),
      onEnd: () => this.#finish(),
      onError: (why) => this.#fail(upstreamError('garbage', why)),
    })
    if (this.#decoded) this.#exchange = this.#decoded
  }

  onData(chunk: Buffer): void {
    if (this.#decoded) this.#decoded.push(chunk)
    else this.#receive(chunk)
  }

  #receive(chunk: Buffer): void {
    if (this.status === 200 && this.#form === null) this.#detectForm(chunk)
    if (this.#stream) {
      if (this.#stream.hasContent) this.#timer?.refresh()
      this.#stream.push(chunk)
      if (this.#stream.isCollected) this.#onCollect(this.#stream, chunk.length)
      if (this.#stream.end !== null) this.#onStreamEnd()
      return
    }
    if (this.#body.count(chunk.length) && this.status === 200) this.#timer?.refresh()
    if (this.status !== 200) {
      if (this.#body.length <= maxErrorBodyBytes) this.#body.keep(chunk)
    } else if (!this.#isTooLarge(this.#deps.maxResponseBytes)) this.#body.keep(chunk)
  }

  #isTooLarge(maxBytes: number): boolean {
    if (this.#body.length <= maxBytes) return false
    this.#fail(upstreamError('garbage', 'The response of the provider is too large.'))
    return true
  }

  #onCollect({ meter }: UpstreamStream, bytes: number): void {
    this.#body.count(bytes)
    if (!this.#isTooLarge(streamOverhead * this.#deps.maxResponseBytes)) this.#call.onCollect?.(meter.tokens)
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
    const { body } = this.#call
    const [status, bytes] = [this.status ?? 0, this.#body.bytes()]
    const received = { status, bytes, headerSection: this.#headerSection }
    const result = this.#read(received, this.#call, this.#deps.now())
    const isAsked = !body.stream || status !== 200
    if (!isAsked && (result.kind === 'buffered' || isArray(bytes))) {
      this.unexpectedForm = 'json'
      if (!body.isCollected) return this.#streamWhole(bytes)
    }
    this.#isOver = true
    if (result.kind === 'buffered') this.#identity = result.identity
    if (
      this.#call.provider.buildTokenRequest &&
      result.kind === 'error' &&
      result.error.kind === 'credential'
    )
      discardAccessToken(this.#call)
    this.#resolve(result)
  }

  /** Sends a whole response as the stream that was asked for. */
  #streamWhole(bytes: Buffer): void {
    this.#openStream()
    this.#stream?.readWhole(bytes)
    this.#onStreamEnd()
  }

  onFail(failure: ConnectionFailure): void {
    this.#fail(upstreamErrorFromConnection(failure))
  }

  pause(): void {
    this.#clearTimer()
    this.#exchange?.pause()
  }

  resume(): void {
    const { idleMs, firstTokenMs } = this.#call.timeouts
    if (!this.#isOver) this.#restartTimer(this.#stream?.hasContent === false ? firstTokenMs : idleMs)
    this.#exchange?.resume()
  }

  /**
   * Closes the connection, unless the response is complete and only the end of its framing is missing. No more events
   * follow; a pending `result` resolves with an error.
   */
  destroy(): void {
    if (this.#isOver) return
    this.#canceledMs = performance.now()
    this.#close({ kind: 'error', error: upstreamError('connection', 'The request was canceled.') })
  }

  #close(result: AttemptResult): void {
    this.#clearTimer()
    this.#exchange?.destroy()
    this.#isOver = true
    this.#resolve(result)
  }

  onContent(): void {
    this.firstContentMs = this.ageMs
    this.#restartTimer(this.#call.timeouts.idleMs)
  }

  onCommit(): void {
    if (this.#stream && !this.#stream.isCollected) this.#resolve({ kind: 'stream', stream: this.#stream })
  }

  /** `null`: it is no stream that is collected. */
  get collectedMeter(): UsageMeter | null {
    return this.#stream?.isCollected ? this.#stream.meter : null
  }

  /** The stream has ended, by its own end marker or because the connection ended. */
  #onStreamEnd(): void {
    const stream = this.#stream
    if (!stream || this.#isOver) return
    this.#clearTimer()
    this.#isOver = true
    // The framing of a complete response must still end before the connection can be reused.
    if (stream.end === 'complete') this.#timer = setTimeout(() => this.#exchange?.destroy(), lingerMs)
    else this.#exchange?.destroy()
    const collected = stream.end === 'complete' ? stream.collected() : null
    if (collected) return this.#resolve(collected)
    if (stream.isCommitted && !stream.isCollected) return
    const empty = upstreamError('garbage', 'The stream of the provider was empty.')
    this.#resolve({ kind: 'error', error: typeof stream.end === 'object' ? (stream.end ?? empty) : empty })
  }

  #fail(error: UpstreamError): void {
    if (this.#isOver) return
    this.#stream?.fail(error)
    this.#close({ kind: 'error', error })
  }

  #onTimeout(): void {
    const what = this.#stream?.hasContent
      ? 'The upstream stopped sending.'
      : 'The upstream did not respond in time.'
    this.#fail(upstreamError('timeout', what))
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
