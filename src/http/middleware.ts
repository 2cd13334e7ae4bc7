/** Hono middleware of the admin API and the console API: the limit of request bodies. */
import type { MiddlewareHandler } from 'hono'
import { apiError } from '../errors.ts'
import { bodyAbortedError, bodyTimeoutError, maxBodyMs } from './body.ts'

const maxBodyBytes = 1024 * 1024

/** Throws 413 if the body is too large, and 400 if it is incomplete or arrives too slowly. */
async function readBounded(
  stream: ReadableStream<Uint8Array>,
  maxMs: typeof maxBodyMs,
  maxBytes: number,
): Promise<Buffer> {
  const startedMs = performance.now()
  const reader = stream.getReader()
  const parts: Uint8Array[] = []
  let size = 0
  for (;;) {
    const timeout = Promise.withResolvers<never>()
    const remainingMs = startedMs + maxMs(size) - performance.now()
    const timer = setTimeout(() => timeout.reject(bodyTimeoutError()), remainingMs)
    const read = reader.read().catch(() => {
      throw bodyAbortedError()
    })
    const { value } = await Promise.race([read, timeout.promise]).finally(() => clearTimeout(timer))
    if (value === undefined) return Buffer.concat(parts)
    size += value.byteLength
    if (size > maxBytes) throw apiError('request_too_large')
    parts.push(value)
  }
}

/** Reads the body of each request within the bounds of its size and time. Relayed requests have their own (body.ts). */
export function limitBody(maxMs = maxBodyMs, maxBytes = maxBodyBytes): MiddlewareHandler {
  return async (c, next) => {
    const { raw, method } = c.req
    const length = c.req.header('content-length')
    if (Number(length ?? 0) > maxBytes) throw apiError('request_too_large')
    if (length !== '0' && raw.body !== null) {
      const body = await readBounded(raw.body, maxMs, maxBytes)
      c.req.raw = new Request(raw.url, { method, headers: raw.headers, body })
    }
    await next()
  }
}

export const bodyLimit = limitBody()

/** Of bodies that carry a file as base64: a third more than its bytes, and the other fields. */
export const fileBodyLimit = (maxFileBytes: number): MiddlewareHandler =>
  limitBody(maxBodyMs, Math.ceil(maxFileBytes / 3) * 4 + 65_536)
