/**
 * `/api/payments/{method}/notice`: where payment providers send notices. No session and no key: a notice proves itself by
 * its signature, over the bytes as received. A method that is not configured has no route.
 */
import { apiError } from '../errors.ts'
import type { AppContext } from './app-context.ts'

/** Some sites of epay append a slash. */
const pathPattern = /^\/api\/payments\/([a-z]+)\/notice\/?$/
const maxBodyBytes = 1024 ** 2

/** The method's name in the path of a notice; undefined: another path. */
export function noticeMethodOf(path: string): string | undefined {
  return pathPattern.exec(path)?.[1]
}

async function readBytes({ body }: Request): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length
    if (size > maxBodyBytes) throw apiError('request_too_large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** `address`: of the sender. Throws 404 for a method without notices, 405 for HTTP methods that no provider uses. */
export async function receiveNotice(
  ctx: AppContext,
  name: string,
  request: Request,
  address: string,
): Promise<Response> {
  const { method } = request
  if (method !== 'GET' && method !== 'POST') throw apiError('method_not_allowed')
  const { status, contentType, body } = await ctx.payments.receiveNotice(name, {
    method,
    query: new URL(request.url).search.slice(1),
    headers: new Map(request.headers),
    body: await readBytes(request),
    receivedAt: Date.now(),
    address,
  })
  return new Response(status === 204 ? null : body, { status, headers: { 'content-type': contentType } })
}
