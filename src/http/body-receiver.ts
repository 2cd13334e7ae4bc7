/**
 * Receives one request body, wherever it comes from: over node:http, the fast path, a `Request` or a WebSocket. Its size,
 * its time and the memory that it holds are bounded, and it is decoded.
 */
import type { IncomingMessage } from 'node:http'
import { bodyAbortedError, bodyTimeoutError, maxBodyMs, type BodyBudget } from './body.ts'
import { decodeBody, parseContentCoding, type ContentCoding } from './content-coding.ts'

export interface BodyOptions {
  /** The account that holds the body, or `strangerAt` while its sender is not known. */
  readonly owner: string
  /** Before and after decoding; absent: `BODY_LIMIT`. */
  readonly maxBytes?: number
  /** null: unknown. */
  readonly contentLength: number | null
  readonly contentEncoding?: string | undefined
}

/** When a body, of which so many bytes have arrived, is late. */
export class BodyClock {
  readonly #graceMs: number
  readonly #startedMs = performance.now()
  #progressMs = this.#startedMs
  #bytes = 0

  constructor({ graceMs }: Pick<BodyBudget, 'graceMs'>) {
    this.#graceMs = graceMs
  }

  /** The time of `performance.now()` until which more must have arrived. */
  get deadlineMs(): number {
    const totalMs = maxBodyMs(this.#bytes, this.#graceMs)
    return Math.min(this.#progressMs + 2 * this.#graceMs, this.#startedMs + totalMs)
  }

  /** So many bytes have arrived in all. Throws 400 if they are late. */
  advance(bytes: number): void {
    const nowMs = performance.now()
    if (nowMs > this.deadlineMs) throw bodyTimeoutError()
    this.#progressMs = nowMs
    this.#bytes = bytes
  }
}

export class BodyReceiver {
  readonly #budget: BodyBudget
  readonly #owner: string
  readonly #maxBytes: number
  readonly #contentLength: number
  readonly #coding: ContentCoding | null
  readonly #clock: BodyClock
  #chunks: Buffer[] = []
  /** Received, and held in the budget. */
  #bytes = 0

  /** Throws 413 or 415. */
  constructor(
    budget: BodyBudget,
    { owner, maxBytes = budget.bodyLimitBytes, contentLength, contentEncoding }: BodyOptions,
  ) {
    this.#budget = budget
    this.#clock = new BodyClock(budget)
    this.#owner = owner
    this.#maxBytes = maxBytes
    this.#contentLength = contentLength ?? 0
    this.#coding = parseContentCoding(contentEncoding)
    budget.check(this.#contentLength, maxBytes)
  }

  /** The time of `performance.now()` until which more must have arrived. */
  get deadlineMs(): number {
    return this.#clock.deadlineMs
  }

  /** Keeps a part of the body. After it has thrown 400, 413, 429 or 503, call `abandon`. */
  receive(chunk: Buffer): void {
    const bytes = this.#bytes + chunk.length
    this.#clock.advance(bytes)
    this.#budget.check(bytes, this.#maxBytes)
    this.#budget.reserve(this.#owner, chunk.length, Math.max(this.#contentLength, bytes))
    this.#bytes = bytes
    if (chunk.length > 0) this.#chunks.push(chunk)
  }

  /**
   * The whole body, decoded, of which `budget` holds exactly the bytes until the caller releases them. If it throws,
   * nothing is held.
   */
  finish(): Buffer | Promise<Buffer> {
    const [first] = this.#chunks
    const body = this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks, this.#bytes)
    this.#chunks = []
    return this.#coding === null ? body : this.#decode(this.#coding, body)
  }

  /** The body is not needed any more, or its rest will not arrive. */
  abandon(): void {
    this.#chunks = []
    this.#budget.release(this.#owner, this.#bytes)
    this.#bytes = 0
  }

  async #decode(coding: ContentCoding, body: Buffer): Promise<Buffer> {
    let decodedBytes = 0
    const reserve = (bytes: number): void => {
      this.#budget.reserve(this.#owner, bytes, decodedBytes + bytes)
      decodedBytes += bytes
    }
    try {
      return await decodeBody(coding, body, { maxBytes: this.#maxBytes, reserve })
    } catch (error) {
      this.#budget.release(this.#owner, decodedBytes)
      throw error
    } finally {
      this.abandon()
    }
  }
}

/** Calls `onLate` once the body is late. Returns what ends the watch. */
function watchDeadline(receiver: BodyReceiver, onLate: () => void): () => void {
  let timer: NodeJS.Timeout
  const wait = (): void => {
    const remainingMs = receiver.deadlineMs - performance.now()
    if (remainingMs <= 0) return onLate()
    timer = setTimeout(wait, Math.ceil(remainingMs))
  }
  wait()
  return () => clearTimeout(timer)
}

/** Reads the whole body of a node:http request. Throws 400, 413, 415, 429 or 503; then nothing is held. */
export async function readIncoming(
  incoming: IncomingMessage,
  budget: BodyBudget,
  options: Pick<BodyOptions, 'owner' | 'maxBytes'>,
): Promise<Buffer> {
  const { 'content-length': length, 'content-encoding': contentEncoding } = incoming.headers
  const contentLength = length === undefined ? null : Number(length)
  const receiver = new BodyReceiver(budget, { ...options, contentLength, contentEncoding })
  if (contentLength === 0) return receiver.finish()
  const { promise, resolve, reject } = Promise.withResolvers<undefined>()
  const stopWatching = watchDeadline(receiver, () => reject(bodyTimeoutError()))
  const onData = (chunk: Buffer): void => {
    try {
      receiver.receive(chunk)
    } catch (error) {
      incoming.off('data', onData)
      // What is read before `lingerAndClose` counts would be read without a bound.
      incoming.pause()
      reject(error)
    }
  }
  const onAborted = (): void => {
    // Every request closes eventually; it is an error only before the body is complete.
    if (!incoming.complete) reject(bodyAbortedError())
  }
  incoming.on('data', onData)
  incoming.on('end', () => resolve(undefined))
  incoming.on('close', onAborted)
  incoming.on('error', onAborted)
  try {
    await promise
  } catch (error) {
    receiver.abandon()
    throw error
  } finally {
    stopWatching()
    incoming.off('data', onData)
  }
  return receiver.finish()
}

/** Reads the whole body of a `Request`. Throws like `readIncoming`. */
export async function readRequest(
  request: Request,
  budget: BodyBudget,
  options: Pick<BodyOptions, 'owner' | 'maxBytes'>,
): Promise<Buffer> {
  const { headers } = request
  const length = headers.get('content-length')
  const contentLength = length === null ? null : Number(length)
  const contentEncoding = headers.get('content-encoding') ?? undefined
  const receiver = new BodyReceiver(budget, { ...options, contentLength, contentEncoding })
  // Not looked at before, because a body that was opened and not read is not discarded after the response.
  const { body } = request
  if (contentLength === 0 || body === null) return receiver.finish()
  const late = Promise.withResolvers<never>()
  const stopWatching = watchDeadline(receiver, () => late.reject(bodyTimeoutError()))
  const stream: ReadableStream<Uint8Array> = body
  const reader = stream.getReader()
  try {
    for (;;) {
      const read = reader.read().catch(() => {
        throw bodyAbortedError()
      })
      const { value, done } = await Promise.race([read, late.promise])
      if (done) break
      receiver.receive(Buffer.from(value.buffer, value.byteOffset, value.byteLength))
    }
  } catch (error) {
    receiver.abandon()
    throw error
  } finally {
    stopWatching()
  }
  return receiver.finish()
}
