/** Hono middleware of the admin API and the console API: authentication by ADMIN_API_KEY, and the limit of request bodies. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { MiddlewareHandler } from 'hono'
import { apiError } from '../errors.ts'
import { parseBearer } from './header-values.ts'

const maxBodyBytes = 1024 * 1024

async function readBounded(stream: ReadableStream<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of stream) {
    size += part.byteLength
    if (size > maxBodyBytes) throw apiError('request_too_large')
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/** Rejects a body that is too large, for all endpoints except the relayed ones (body.ts). A body without `content-length` is read up to the bound first. */
export const bodyLimit: MiddlewareHandler = async (c, next) => {
  const { raw, method } = c.req
  const length = c.req.header('content-length')
  if (Number(length ?? 0) > maxBodyBytes) throw apiError('request_too_large')
  const hasUnknownLength = length === undefined && ['POST', 'PATCH', 'PUT'].includes(method)
  if (hasUnknownLength && raw.body !== null) {
    const body = await readBounded(raw.body)
    c.req.raw = new Request(raw.url, { method, headers: raw.headers, body })
  }
  await next()
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** Compares digests in constant time, so that timing reveals neither the content nor the length of the key. */
export function requireAdminKey(adminApiKey: string | null): MiddlewareHandler {
  const expected = adminApiKey === null || adminApiKey === '' ? null : sha256(adminApiKey)
  return async (c, next) => {
    if (expected === null) throw apiError('not_found')
    const key = parseBearer(c.req.header('authorization') ?? '') ?? ''
    if (!timingSafeEqual(sha256(key), expected)) throw apiError('invalid_api_key')
    await next()
  }
}
