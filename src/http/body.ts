/**
 * Reads request bodies within two bounds: per body, and for all bodies of this worker together. A body that is too
 * large is rejected at once; a little more is read and discarded, so that the response arrives before the connection
 * closes.
 */
import type { IncomingMessage } from 'node:http'
import { apiError, type ApiError } from '../errors.ts'

/** How much of a rejected body is still read, and for how long. */
export const lingerBytes = 1024 * 1024
export const lingerMs = 1000
/** A body that makes no progress for this long is rejected. */
export const bodyTimeoutMs = 60_000
/** A body must arrive at this average speed, after a time for connections that start slowly. */
const minBytesPerSecond = 16_384
const speedGraceMs = 30_000

/** How long it may take to receive this many bytes. */
export function maxBodyMs(bytes: number): number {
  return speedGraceMs + (bytes / minBytesPerSecond) * 1000
}

export interface BodyBounds {
  readonly bodyLimitBytes: number
  readonly bodiesLimitBytes: number
}

/** Counts the bytes of all request bodies that this worker holds in memory. */
export class BodyBudget {
  readonly #bounds: BodyBounds
  #heldBytes = 0

  constructor(bounds: BodyBounds) {
    this.#bounds = bounds
  }

  /** Throws 413 if a body, by its `content-length` or as received so far, exceeds the bound. */
  check(bodyBytes: number): void {
    const { bodyLimitBytes } = this.#bounds
    if (bodyBytes <= bodyLimitBytes) return
    throw apiError('request_too_large', {
      message: `Request body too large: at most ${bodyLimitBytes} bytes are allowed.`,
    })
  }

  /** Reserves bytes before they are held. Throws 503, without reserving, if the total would exceed the bound. */
  reserve(bytes: number): void {
    if (this.#heldBytes + bytes > this.#bounds.bodiesLimitBytes) {
      throw apiError('service_unavailable', { retryAfterMs: 1000 })
    }
    this.#heldBytes += bytes
  }

  /** After the request. */
  release(bytes: number): void {
    this.#heldBytes -= bytes
  }
}

export function bodyTimeoutError(): ApiError {
  return apiError('invalid_request', { message: 'Timed out while reading the request body.' })
}

export function bodyAbortedError(): ApiError {
  return apiError('invalid_request', { message: 'The request body is incomplete.' })
}

/** Reads the whole body of a node:http request and reserves it in the budget. Throws 400, 413 or 503. */
export async function readBody(
  incoming: IncomingMessage,
  budget: BodyBudget,
  maxMs = maxBodyMs,
): Promise<Buffer> {
  const contentLength = Number(incoming.headers['content-length'] ?? NaN)
  if (contentLength > 0) budget.check(contentLength)
  if (contentLength === 0) return Buffer.alloc(0)
  const chunks: Buffer[] = []
  let bytes = 0
  const { promise, resolve, reject } = Promise.withResolvers<undefined>()
  const startedMs = performance.now()
  const timeout = setTimeout(() => reject(bodyTimeoutError()), bodyTimeoutMs)
  const onData = (chunk: Buffer): void => {
    try {
      if (performance.now() - startedMs > maxMs(bytes)) throw bodyTimeoutError()
      budget.check(bytes + chunk.length)
      budget.reserve(chunk.length)
    } catch (error) {
      incoming.off('data', onData)
      // What is read before `lingerAndClose` counts would be read without a bound.
      incoming.pause()
      reject(error)
      return
    }
    bytes += chunk.length
    chunks.push(chunk)
    timeout.refresh()
  }
  incoming.on('data', onData)
  incoming.on('end', () => resolve(undefined))
  const onAborted = (): void => {
    // Every request closes eventually; it is an error only before the body is complete.
    if (!incoming.complete) reject(bodyAbortedError())
  }
  incoming.on('close', onAborted)
  incoming.on('error', onAborted)
  try {
    await promise
  } catch (error) {
    budget.release(bytes)
    throw error
  } finally {
    clearTimeout(timeout)
    incoming.off('data', onData)
  }
  const [first] = chunks
  return chunks.length === 1 && first ? first : Buffer.concat(chunks, bytes)
}

/** After an early response: reads and discards a little more of the body, then closes the connection. */
export function lingerAndClose(incoming: IncomingMessage): void {
  if (incoming.complete) return
  let bytes = 0
  const close = (): void => {
    clearTimeout(timer)
    incoming.socket.destroy()
  }
  const timer = setTimeout(close, lingerMs)
  incoming.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > lingerBytes) close()
  })
  incoming.on('end', () => clearTimeout(timer))
  incoming.on('close', () => clearTimeout(timer))
  incoming.resume()
}
