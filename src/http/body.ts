/**
 * The bounds of all request bodies of a worker: how large one may be, how much those of an account and all together may
 * hold, and how long one may take. `body-receiver.ts` applies them at every entrance.
 */
import { apiError, type ApiError } from '../errors.ts'
import { addressNetwork } from '../lib/address-network.ts'

/** A body must arrive at this average speed, after a time for connections that start slowly. */
const minBytesPerSecond = 16_384
const defaultGraceMs = 30_000

/** How long it may take to receive this many bytes. */
export function maxBodyMs(bytes: number, graceMs = defaultGraceMs): number {
  return graceMs + (bytes / minBytesPerSecond) * 1000
}

export interface BodyBounds {
  readonly bodyLimitBytes: number
  readonly bodiesLimitBytes: number
  readonly bodyTimeoutMs?: number
}

/** Smaller bodies have a reserved part of the budget, and an account without money holds no more. */
export const smallBodyBytes = 65_536
/** A network whose clients are not known may hold this much in the smallest budget. */
const minStrangerBytes = 262_144
const strangerPrefix = 'network '

/** Who sends a body of a client that is not known yet. */
export function strangerAt(address: string): string {
  return `${strangerPrefix}${addressNetwork(address)}`
}

/** An account may hold one of this many parts, and one of them is reserved for small bodies. */
const parts = 8

/**
 * Counts the bytes of all request bodies that this worker holds in memory, and keeps one account from taking the memory
 * of the others. The bodies of an account hold at most an eighth. The last eighth is reserved for small bodies, of
 * accounts that hold at most an eighth of it. A body of the maximum size fits into an empty budget even if it is larger
 * than these parts. Clients that are not known hold at most an eighth together, and an eighth of it from one network.
 */
export class BodyBudget {
  readonly limitBytes: number
  readonly bodyLimitBytes: number
  /** A body that makes no progress for twice this time is rejected; see also `maxBodyMs`. */
  readonly graceMs: number
  readonly #accountLimitBytes: number
  /** Above this total, only the reserved part is left. */
  readonly #unreservedBytes: number
  /** What an account may hold and still use the reserved part. */
  readonly #reservedAccountBytes: number
  readonly #strangersLimitBytes: number
  readonly #networkLimitBytes: number
  #strangersBytes = 0
  /** The bytes that each account or network holds now. */
  readonly #ownerBytes = new Map<string, number>()
  #heldBytes = 0

  constructor({ bodyLimitBytes, bodiesLimitBytes, bodyTimeoutMs = defaultGraceMs }: BodyBounds) {
    const largestBodyBytes = Math.min(bodyLimitBytes, bodiesLimitBytes)
    const partBytes = Math.floor(bodiesLimitBytes / parts)
    this.limitBytes = bodiesLimitBytes
    this.bodyLimitBytes = bodyLimitBytes
    this.graceMs = bodyTimeoutMs
    this.#accountLimitBytes = Math.max(partBytes, largestBodyBytes)
    this.#unreservedBytes = Math.max(bodiesLimitBytes - partBytes, largestBodyBytes)
    this.#reservedAccountBytes = Math.max((bodiesLimitBytes - this.#unreservedBytes) / parts, smallBodyBytes)
    this.#strangersLimitBytes = Math.max(partBytes, minStrangerBytes)
    this.#networkLimitBytes = Math.max(partBytes / parts, minStrangerBytes)
  }

  /** The bytes of all bodies that are held now. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /** Throws 413 if a body, by its `content-length` or as received so far, exceeds the bound. */
  check(bodyBytes: number, maxBytes = this.bodyLimitBytes): void {
    if (bodyBytes > maxBytes) throw tooLarge(maxBytes)
  }

  /**
   * Reserves bytes of an account's body before they are held. `owner`: the account, or `strangerAt`. `bodyBytes`: the
   * size of the whole body as far as it is known. Throws without reserving: 503 if there is no room, 429 if the owner
   * would exceed its share.
   */
  reserve(owner: string, bytes: number, bodyBytes: number): void {
    const heldBytes = this.#heldBytes + bytes
    const ownerBytes = (this.#ownerBytes.get(owner) ?? 0) + bytes
    const mayUseReserved = bodyBytes < smallBodyBytes && ownerBytes <= this.#reservedAccountBytes
    const isStranger = owner.startsWith(strangerPrefix)
    const limitBytes = isStranger ? this.#networkLimitBytes : this.#accountLimitBytes
    const hasRoom = heldBytes <= (mayUseReserved ? this.limitBytes : this.#unreservedBytes)
    if (!hasRoom || (isStranger && this.#strangersBytes + bytes > this.#strangersLimitBytes)) {
      throw apiError('service_unavailable', { retryAfterMs: 1000 })
    }
    if (ownerBytes > limitBytes) {
      const sender = isStranger ? 'network' : 'account'
      throw apiError('rate_limit_exceeded', {
        message: `Too much data in request bodies at once: those of one ${sender} may hold ${limitBytes} bytes. Wait until running requests have ended, or send smaller ones.`,
        retryAfterMs: 1000,
      })
    }
    this.#hold(owner, bytes)
  }

  /** After the request. */
  release(owner: string, bytes: number): void {
    this.#hold(owner, -bytes)
  }

  #hold(owner: string, bytes: number): void {
    const ownerBytes = (this.#ownerBytes.get(owner) ?? 0) + bytes
    this.#heldBytes += bytes
    if (owner.startsWith(strangerPrefix)) this.#strangersBytes += bytes
    if (ownerBytes > 0) this.#ownerBytes.set(owner, ownerBytes)
    else this.#ownerBytes.delete(owner)
  }
}

function tooLarge(maxBytes: number): ApiError {
  return apiError('request_too_large', {
    message: `Request body too large: at most ${maxBytes} bytes are allowed.`,
  })
}

export function bodyTimeoutError(): ApiError {
  return apiError('invalid_request', { message: 'Timed out while reading the request body.' })
}

export function bodyAbortedError(): ApiError {
  return apiError('invalid_request', { message: 'The request body is incomplete.' })
}
