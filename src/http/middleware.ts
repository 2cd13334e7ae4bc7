/** Bodies of requests that Hono serves: those of the admin API and the console API. */
import type { Context, MiddlewareHandler } from 'hono'
import type { BodyBudget } from './body.ts'
import { readRequest } from './body-receiver.ts'

export const maxBodyBytes = 1024 * 1024
/** Of clients that have no session: what they send fits many times. */
export const maxStrangerBodyBytes = 16_384

export interface BodyOwner {
  readonly owner: string
  readonly maxBytes: number
}

/**
 * Reads the body of a request within its bounds (body.ts); handlers get a request with the decoded body. Dispose of the
 * result when the response has been created.
 */
export async function receiveBody(c: Context, budget: BodyBudget, from: BodyOwner): Promise<Disposable> {
  const { raw } = c.req
  const { url, method } = raw
  // Its body is not looked at: one that is opened and not read is not discarded after the response.
  if (method === 'GET' || method === 'HEAD') return { [Symbol.dispose]() {} }
  const body = await readRequest(raw, budget, from)
  const headers = new Headers(raw.headers)
  headers.delete('content-encoding')
  headers.set('content-length', String(body.length))
  c.req.raw = new Request(url, { method, headers, body: new Uint8Array(body) })
  return { [Symbol.dispose]: () => budget.release(from.owner, body.length) }
}

/** Receives the body of each request. */
export function limitBody(budget: BodyBudget, from: (c: Context) => BodyOwner): MiddlewareHandler {
  return async (c, next) => {
    using _body = await receiveBody(c, budget, from(c))
    await next()
  }
}

/** Of bodies that carry a file as base64: a third more than its bytes, and the other fields. */
export function bodyBytesOfFile(maxFileBytes: number): number {
  return Math.ceil(maxFileBytes / 3) * 4 + 65_536
}
