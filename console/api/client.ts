/** The HTTP client of the server's API. The session is an HttpOnly cookie, so no script handles a credential. */

/** An error response of the API. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  /** The invalid field. */
  readonly param: string | null
  readonly requestId: string | null
  readonly retryAfterMs: number | null

  constructor(status: number, body: ErrorBody, headers: Headers) {
    super(body.message)
    this.name = 'ApiError'
    this.status = status
    this.code = body.code
    this.param = body.param
    this.requestId = headers.get('x-request-id')
    const retryAfter = headers.get('retry-after')
    this.retryAfterMs = retryAfter === null ? null : Number(retryAfter) * 1000
  }
}

interface ErrorBody {
  readonly message: string
  readonly code: string
  readonly param: string | null
}

type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'

/** Called when the server reports that the session has ended. */
let onSignedOut: (() => void) | null = null

export function setSignedOutListener(listener: () => void): void {
  onSignedOut = listener
}

function parseErrorBody(body: unknown, status: number): ErrorBody {
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

/** Calls `/api${path}`. The response is not validated: its type is inferred from the server's own schema. */
export async function call<Data>(method: Method, path: string, body?: unknown): Promise<Data> {
  const response = await send(method, `/api${path}`, body)
  const data: unknown = response.status === 204 ? null : await response.json().catch(() => null)
  if (response.ok) return data as Data
  const error = new ApiError(response.status, parseErrorBody(data, response.status), response.headers)
  if (error.status === 401 && error.code === 'session_required') onSignedOut?.()
  throw error
}

export function get<Data>(path: string): Promise<Data> {
  return call('GET', path)
}

/** `?a=1&b=2` without empty values; an empty string if nothing is left. */
export function queryString(params: Readonly<Record<string, string | number | null | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== null && value !== '') query.set(name, String(value))
  }
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}
