/**
 * Every error that the API returns, in one table: code → status, type, public message. Any module throws
 * `apiError(code)`; `http/` turns it into the response body, `{ "error": { "message", "type", "param", "code" } }`,
 * with all four fields always present.
 */

interface ErrorDefinition {
  readonly status: number
  readonly type: string
  readonly message: string
  /** Default for `ApiErrorDetail.retryAfterMs`. */
  readonly retryAfterMs?: number
}

const definitions = {
  invalid_request: { status: 400, type: 'invalid_request_error', message: 'Invalid request.' },
  invalid_json: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The request body is not valid JSON.',
  },
  idempotency_key_reused: {
    status: 422,
    type: 'invalid_request_error',
    message: 'This Idempotency-Key was already used with a different request body.',
  },
  idempotency_conflict: {
    status: 409,
    type: 'invalid_request_error',
    message: 'A request with this Idempotency-Key is still in progress, or its response was not stored.',
  },
  invalid_api_key: {
    status: 401,
    type: 'authentication_error',
    message: 'Missing or invalid API key.',
  },
  session_required: { status: 401, type: 'authentication_error', message: 'You are not signed in.' },
  wrong_credentials: {
    status: 401,
    type: 'authentication_error',
    message: 'Incorrect e-mail address or password.',
  },
  wrong_code: { status: 401, type: 'authentication_error', message: 'Incorrect code.' },
  password_refused: {
    status: 400,
    type: 'invalid_request_error',
    message: 'This password is not allowed. Choose a different one.',
  },
  link_invalid: {
    status: 404,
    type: 'invalid_request_error',
    message: 'This link is invalid or has expired. Request a new one.',
  },
  insufficient_quota: {
    status: 402,
    type: 'insufficient_quota',
    message: 'Insufficient balance for this request. Add funds and try again.',
  },
  spend_cap_exceeded: {
    status: 402,
    type: 'insufficient_quota',
    message: 'A spend cap has been reached.',
  },
  permission_denied: {
    status: 403,
    type: 'permission_error',
    message: 'You do not have permission to do this.',
  },
  password_required: {
    status: 403,
    type: 'permission_error',
    message: 'Enter your password again to do this.',
  },
  cross_site: {
    status: 403,
    type: 'permission_error',
    message: 'Cross-site requests are not allowed. Use the console at its own address.',
  },
  operators_only: { status: 403, type: 'permission_error', message: 'Only operators can do this.' },
  no_account: {
    status: 403,
    type: 'permission_error',
    message: 'You do not have an account. Sign in to one to view its pages.',
  },
  sign_up_closed: { status: 403, type: 'permission_error', message: 'Sign-up is closed.' },
  invite_invalid: {
    status: 403,
    type: 'permission_error',
    message: 'This invite code is invalid or has expired.',
  },
  account_suspended: { status: 403, type: 'permission_error', message: 'This account is suspended.' },
  address_not_allowed: {
    status: 403,
    type: 'permission_error',
    message: 'This key cannot be used from your IP address.',
  },
  model_not_allowed: {
    status: 403,
    type: 'permission_error',
    message: 'This key is not allowed to use this model.',
  },
  model_not_found: { status: 404, type: 'invalid_request_error', message: 'The model does not exist.' },
  not_found: { status: 404, type: 'invalid_request_error', message: 'Not found.' },
  method_not_allowed: {
    status: 405,
    type: 'invalid_request_error',
    message: 'Method not allowed.',
  },
  conflict: {
    status: 409,
    type: 'invalid_request_error',
    message: 'This conflicts with an existing resource.',
  },
  request_too_large: {
    status: 413,
    type: 'invalid_request_error',
    message: 'The request body is too large.',
  },
  unsupported_media_type: {
    status: 415,
    type: 'invalid_request_error',
    message: 'Unsupported content type. Use application/json.',
  },
  rate_limit_exceeded: { status: 429, type: 'rate_limit_error', message: 'Too many requests. Retry later.' },
  server_error: { status: 500, type: 'server_error', message: 'Internal server error.' },
  upstream_unavailable: {
    status: 503,
    type: 'server_error',
    message: 'This model is temporarily unavailable.',
    retryAfterMs: 1000,
  },
  service_unavailable: {
    status: 503,
    type: 'server_error',
    message: 'The service is temporarily unavailable.',
    retryAfterMs: 1000,
  },
} as const satisfies Record<string, ErrorDefinition>

/** Sent with `x-should-retry: false`: the same request would fail again. */
const finalStatuses: ReadonlySet<number> = new Set([400, 401, 402, 403, 404, 405, 413, 415, 422])

export type ApiErrorCode = keyof typeof definitions

export interface ApiErrorDetail {
  /** Replaces the table's message. */
  readonly message?: string
  /** The request field at fault, as a path: `messages[0].role`. */
  readonly param?: string
  /** Replaces the table's status, such as with the one that an upstream returned. */
  readonly status?: number
  /** Replaces the table's code, such as with the one that an upstream returned. */
  readonly code?: string
  /** Milliseconds until a retry can succeed; sent as `Retry-After`. */
  readonly retryAfterMs?: number
  /** Replaces what follows from the status. */
  readonly final?: boolean
  /** `error.details` of Anthropic's format, which its client libraries read. */
  readonly details?: Readonly<Record<string, unknown>>
}

/** An error that is returned to the caller. Everything in it is public. */
export class ApiError extends Error {
  readonly code: ApiErrorCode
  readonly detail: ApiErrorDetail

  constructor(code: ApiErrorCode, detail: ApiErrorDetail = {}) {
    super(detail.message ?? definitions[code].message)
    this.name = 'ApiError'
    this.code = code
    const { retryAfterMs }: ErrorDefinition = definitions[code]
    this.detail = retryAfterMs === undefined ? detail : { retryAfterMs, ...detail }
  }

  get status(): number {
    return this.detail.status ?? definitions[this.code].status
  }

  /** True if a retry cannot succeed. */
  get final(): boolean {
    return this.detail.final ?? finalStatuses.has(this.status)
  }

  /** The response body: `{"error": {message, type, param, code}}`. */
  toBody(): { error: { message: string; type: string; param: string | null; code: string } } {
    return {
      error: {
        message: this.message,
        type: definitions[this.code].type,
        param: this.detail.param ?? null,
        code: this.detail.code ?? this.code,
      },
    }
  }
}

/** Creates an error to throw: `throw apiError('model_not_found', { param: 'model' })`. */
export function apiError(code: ApiErrorCode, detail?: ApiErrorDetail): ApiError {
  return new ApiError(code, detail)
}

/** The error itself if it is an `ApiError`. Every other error is a bug and becomes `server_error`, without its details. */
export function asApiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError('server_error')
}
