/**
 * Reads request bodies within three bounds: per body, for the bodies of an account, and for all bodies of this worker
 * together. A body that is too large is rejected at once.
 */
import type { IncomingMessage } from 'node:http'
import { apiError, type ApiError } from '../errors.ts'

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

/** Smaller bodies have a reserved part of the budget. */
const smallBodyBytes = 65_536
/** An account may hold one of this many parts, and one of them is reserved for small bodies. */
const parts = 8

/**
 * Counts the bytes of all request bodies that this worker holds in memory, and keeps one account from taking the memory
 * of the others. The bodies of an account hold at most an eighth. The last eighth is reserved for small bodies, of
 * accounts that hold at most an eighth of it. A body of the maximum size fits into an empty budget even if it is larger
 * than these parts.
 */
export class BodyBudget {
  readonly limitBytes: number
  readonly #bodyLimitBytes: number
  readonly #accountLimitBytes: number
  /** Above this total, only the reserved part is left. */
  readonly #unreservedBytes: number
  /** What an account may hold and still use the reserved part. */
  readonly #reservedAccountBytes: number
  /** The bytes that each account holds now. */
  readonly #accountBytes = new Map<string, number>()
  #heldBytes = 0

  constructor({ bodyLimitBytes, bodiesLimitBytes }: BodyBounds) {
    const largestBodyBytes = Math.min(bodyLimitBytes, bodiesLimitBytes)
    const partBytes = Math.floor(bodiesLimitBytes / parts)
    this.limitBytes = bodiesLimitBytes
    this.#bodyLimitBytes = bodyLimitBytes
    this.#accountLimitBytes = Math.max(partBytes, largestBodyBytes)
    this.#unreservedBytes = Math.max(bodiesLimitBytes - partBytes, largestBodyBytes)
    this.#reservedAccountBytes = Math.max((bodiesLimitBytes - this.#unreservedBytes) / parts, smallBodyBytes)
  }

  /** The bytes of all bodies that are held now. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /** Throws 413 if a body, by its `content-length` or as received so far, exceeds the bound. */
  check(bodyBytes: number): void {
    if (bodyBytes <= this.#bodyLimitBytes) return
    throw apiError('request_too_large', {
      message: `Request body too large: at most ${this.#bodyLimitBytes} bytes are allowed.`,
    })
  }

  /**
   * Reserves bytes of an account's body before they are held. `bodyBytes`: the size of the whole body as far as it is
   * known. Throws without reserving: 503 if there is no room, 429 if the account would exceed its share.
   */
  reserve(accountId: string, bytes: number, bodyBytes: number): void {
    const heldBytes = this.#heldBytes + bytes
    const accountBytes = (this.#accountBytes.get(accountId) ?? 0) + bytes
    const mayUseReserved = bodyBytes < smallBodyBytes && accountBytes <= this.#reservedAccountBytes
    if (heldBytes > (mayUseReserved ? this.limitBytes : this.#unreservedBytes)) {
      throw apiError('service_unavailable', { retryAfterMs: 1000 })
    }
    if (accountBytes > this.#accountLimitBytes) {
      throw apiError('rate_limit_exceeded', {
        message: `Too much data in request bodies at once: those of one account may hold ${this.#accountLimitBytes} bytes. Wait until running requests have ended, or send smaller ones.`,
        retryAfterMs: 1000,
      })
    }
    this.#heldBytes = heldBytes
    this.#accountBytes.set(accountId, accountBytes)
  }

  /** After the request. */
  release(accountId: string, bytes: number): void {
    const accountBytes = (this.#accountBytes.get(accountId) ?? 0) - bytes
    this.#heldBytes -= bytes
    if (accountBytes > 0) this.#accountBytes.set(accountId, accountBytes)
    else this.#accountBytes.delete(accountId)
  }
}

export function bodyTimeoutError(): ApiError {
  return apiError('invalid_request', { message: 'Timed out while reading the request body.' })
}

export function bodyAbortedError(): ApiError {
  return apiError('invalid_request', { message: 'The request body is incomplete.' })
}

/** Reads the whole body of a node:http request and reserves it for the account. Throws 400, 413, 429 or 503. */
export async function readBody(
  incoming: IncomingMessage,
  budget: BodyBudget,
  accountId: string,
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
      const receivedBytes = bytes + chunk.length
      budget.check(receivedBytes)
      budget.reserve(accountId, chunk.length, Math.max(contentLength || 0, receivedBytes))
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
    budget.release(accountId, bytes)
    throw error
  } finally {
    clearTimeout(timeout)
    incoming.off('data', onData)
  }
  const [first] = chunks
  return chunks.length === 1 && first ? first : Buffer.concat(chunks, bytes)
}
