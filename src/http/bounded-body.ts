/** Bodies of the doors that are not in a hurry: small, and never read further than they may go. */
import type { MiddlewareHandler } from 'hono'
import { refuse } from '../errors.ts'

const bodyMaxBytes = 1024 * 1024

async function readBounded(stream: ReadableStream<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of stream) {
    size += part.byteLength
    if (size > bodyMaxBytes) throw refuse('request_too_large')
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/** Refuses a body that is too large; one that does not say its length is read as far as it may go. */
export const boundedBody: MiddlewareHandler = async (c, next) => {
  const { raw, method } = c.req
  const length = c.req.header('content-length')
  if (Number(length ?? 0) > bodyMaxBytes) throw refuse('request_too_large')
  const mayBeLong = length === undefined && ['POST', 'PATCH', 'PUT'].includes(method)
  if (mayBeLong && raw.body !== null) {
    const body = await readBounded(raw.body)
    c.req.raw = new Request(raw.url, { method, headers: raw.headers, body })
  }
  await next()
}
