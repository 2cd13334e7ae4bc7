/**
 * Reads request bodies within bounds: one body's, and all bodies' of this worker together. What is too large is
 * refused at once; a little is read on, so that the answer arrives before the connection ends.
 */
import type { IncomingMessage } from 'node:http'
import { refuse } from '../errors.ts'

/** What is read on of a refused body, and for how long. */
const lingerBytes = 1024 * 1024
const lingerMs = 1000
const stallMs = 60_000

export interface BodyLimits {
  readonly bodyLimitBytes: number
  readonly bodiesLimitBytes: number
}

export class BodyReader {
  readonly #limits: BodyLimits
  #heldBytes = 0

  constructor(limits: BodyLimits) {
    this.#limits = limits
  }

  /**
   * The whole body; `release` gives its bytes back to the bound when the request is over. Throws 413, or 503 when
   * too many bytes are held already. `contentLength`: as announced, or NaN.
   */
  async read(incoming: IncomingMessage, contentLength: number): Promise<Buffer> {
    if (contentLength > this.#limits.bodyLimitBytes) throw tooLarge(this.#limits.bodyLimitBytes)
    if (contentLength === 0) return Buffer.alloc(0)
    const chunks: Buffer[] = []
    let bytes = 0
    const { promise, resolve, reject } = Promise.withResolvers<undefined>()
    const stalled = setTimeout(
      () => reject(refuse('invalid_request', { message: 'The body did not arrive.' })),
      stallMs,
    )
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length
      this.#heldBytes += chunk.length
      if (bytes > this.#limits.bodyLimitBytes) reject(tooLarge(this.#limits.bodyLimitBytes))
      else if (this.#heldBytes > this.#limits.bodiesLimitBytes)
        reject(refuse('service_unavailable', { retryAfterMs: 1000 }))
      else {
        chunks.push(chunk)
        stalled.refresh()
      }
    }
    incoming.on('data', onData)
    incoming.on('end', () => resolve(undefined))
    const onBroken = (): void => {
      // Every request closes in the end; only before its body has come does that mean anything.
      if (!incoming.complete) reject(refuse('invalid_request', { message: 'The body broke off.' }))
    }
    incoming.on('close', onBroken)
    incoming.on('error', onBroken)
    try {
      await promise
    } catch (error) {
      this.release(bytes)
      throw error
    } finally {
      clearTimeout(stalled)
      incoming.off('data', onData)
    }
    const [first] = chunks
    return chunks.length === 1 && first ? first : Buffer.concat(chunks, bytes)
  }

  /** The request is over: its bytes count no longer. */
  release(bytes: number): void {
    this.#heldBytes -= bytes
  }
}

function tooLarge(limitBytes: number): Error {
  return refuse('request_too_large', { message: `The body is larger than ${limitBytes} bytes.` })
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
