/**
 * Reads request bodies within bounds: one body's, and all bodies' of this worker together. What is too large is
 * refused at once; a little is read on, so that the answer arrives before the connection ends.
 */
import type { IncomingMessage } from 'node:http'
import { refuse, type Refusal } from '../errors.ts'

/** What is read on of a refused body, and for how long. */
export const lingerBytes = 1024 * 1024
export const lingerMs = 1000
/** A body that brings nothing for so long is given up. */
export const stallMs = 60_000

export interface BodyLimits {
  readonly bodyLimitBytes: number
  readonly bodiesLimitBytes: number
}

/** What all bodies of this worker hold together. */
export class BodyBudget {
  readonly #limits: BodyLimits
  #heldBytes = 0

  constructor(limits: BodyLimits) {
    this.#limits = limits
  }

  /** Throws 413 for a body, announced or come so far, that is larger than one may be. */
  check(bodyBytes: number): void {
    const { bodyLimitBytes } = this.#limits
    if (bodyBytes <= bodyLimitBytes) return
    throw refuse('request_too_large', { message: `The body is larger than ${bodyLimitBytes} bytes.` })
  }

  /** Counts bytes that are kept from now on. Throws 503, without counting, when too many are held already. */
  take(bytes: number): void {
    if (this.#heldBytes + bytes > this.#limits.bodiesLimitBytes) {
      throw refuse('service_unavailable', { retryAfterMs: 1000 })
    }
    this.#heldBytes += bytes
  }

  /** The request is over: its bytes count no longer. */
  release(bytes: number): void {
    this.#heldBytes -= bytes
  }
}

export function stalledBody(): Refusal {
  return refuse('invalid_request', { message: 'The body did not arrive.' })
}

export function brokenBody(): Refusal {
  return refuse('invalid_request', { message: 'The body broke off.' })
}

/** The whole body of a node:http request, taken from the budget. Throws 400, 413 or 503. */
export async function readBody(incoming: IncomingMessage, budget: BodyBudget): Promise<Buffer> {
  const announced = Number(incoming.headers['content-length'] ?? NaN)
  if (announced > 0) budget.check(announced)
  if (announced === 0) return Buffer.alloc(0)
  const chunks: Buffer[] = []
  let bytes = 0
  const { promise, resolve, reject } = Promise.withResolvers<undefined>()
  const stalled = setTimeout(() => reject(stalledBody()), stallMs)
  const onData = (chunk: Buffer): void => {
    try {
      budget.check(bytes + chunk.length)
      budget.take(chunk.length)
    } catch (error) {
      incoming.off('data', onData)
      reject(error)
      return
    }
    bytes += chunk.length
    chunks.push(chunk)
    stalled.refresh()
  }
  incoming.on('data', onData)
  incoming.on('end', () => resolve(undefined))
  const onBroken = (): void => {
    // Every request closes in the end; only before its body has come does that mean anything.
    if (!incoming.complete) reject(brokenBody())
  }
  incoming.on('close', onBroken)
  incoming.on('error', onBroken)
  try {
    await promise
  } catch (error) {
    budget.release(bytes)
    throw error
  } finally {
    clearTimeout(stalled)
    incoming.off('data', onData)
  }
  const [first] = chunks
  return chunks.length === 1 && first ? first : Buffer.concat(chunks, bytes)
}

/** After an early answer: reads a little on and throws it away, then ends the connection. */
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
