/** The only way out of the console: calls of the server's interface, with a session cookie that scripts cannot see. */

/** A refusal of the server, in the form of the public interface. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  /** The field at fault. */
  readonly param: string | null
  readonly requestId: string | null
  readonly retryAfterMs: number | null

  constructor(status: number, told: Told, headers: Headers) {
    super(told.message)
    this.name = 'ApiError'
    this.status = status
    this.code = told.code
    this.param = told.param
    this.requestId = headers.get('x-request-id')
    const retryAfter = headers.get('retry-after')
    this.retryAfterMs = retryAfter === null ? null : Number(retryAfter) * 1000
  }
}

interface Told {
  readonly message: string
  readonly code: string
  readonly param: string | null
}

type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'

/** Told when the session has ended: by the server, or in another tab. */
let onSignedOut: (() => void) | null = null

export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener
}

function toldBy(body: unknown, status: number): Told {
  const error: unknown = typeof body === 'object' && body !== null && 'error' in body ? body.error : null
  if (typeof error === 'object' && error !== null && 'code' in error && 'message' in error) {
    const param = 'param' in error && typeof error.param === 'string' ? error.param : null
    return { message: String(error.message), code: String(error.code), param }
  }
  return { message: `HTTP ${status}`, code: status >= 500 ? 'server_error' : 'unknown', param: null }
}

async function send(method: Method, path: string, body?: unknown): Promise<Response> {
  const init: RequestInit = { method, credentials: 'same-origin', headers: { accept: 'application/json' } }
  if (body !== undefined) {
    init.body = JSON.stringify(body)
    init.headers = { accept: 'application/json', 'content-type': 'application/json' }
  }
  try {
    return await fetch(path, init)
  } catch {
    throw new ApiError(0, { message: 'offline', code: 'offline', param: null }, new Headers())
  }
}

/** Calls `/api${path}`. The answer's shape is the server's word: both are checked against the same schemas. */
export async function call<Answer>(method: Method, path: string, body?: unknown): Promise<Answer> {
  const reply = await send(method, `/api${path}`, body)
  const answer: unknown = reply.status === 204 ? null : await reply.json().catch(() => null)
  if (reply.ok) return answer as Answer
  const error = new ApiError(reply.status, toldBy(answer, reply.status), reply.headers)
  if (error.status === 401 && error.code === 'session_required') onSignedOut?.()
  throw error
}

export function get<Answer>(path: string): Promise<Answer> {
  return call('GET', path)
}

/** `?a=1&b=2` of what is given; empty when nothing is. */
export function queryOf(given: Readonly<Record<string, string | number | null | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined && value !== null && value !== '') query.set(name, String(value))
  }
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}
