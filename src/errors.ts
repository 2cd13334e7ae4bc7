/**
 * Every error that the API returns, in one table: code → status and public message. The type follows from the status.
 * Any module throws `apiError(code)`; `http/` turns it into the response body, `{ "error": { "message", "type", "param", "code" } }`,
 * with all four fields always present.
 */

/** The status and the default message of each code. */
const definitions = {
  invalid_request: [400, 'Invalid request.'],
  context_length_exceeded: [400, 'The prompt is longer than the context of this model.'],
  invalid_encrypted_content: [400, 'This `encrypted_content` was not made for this account, or was changed.'],
  invalid_json: [400, 'The request body is not valid JSON.'],
  compaction_failed: [
    422,
    'The model wrote no complete summary, so the conversation was not compacted. Try again, or use another model.',
  ],
  invalid_stream_id: [
    400,
    'Invalid `stream_id`: must be 1 to 256 letters, digits, underscores, hyphens or periods.',
  ],
  websocket_stream_limit_reached: [
    400,
    'Too many responses are running on this WebSocket. Wait for one of them, or open another WebSocket.',
  ],
  websocket_connection_limit_reached: [
    400,
    'This WebSocket has been open for 60 minutes. Open another one to continue.',
  ],
  idempotency_key_reused: [422, 'This Idempotency-Key was already used with a different request body.'],
  idempotency_conflict: [
    409,
    'A request with this Idempotency-Key is still in progress, or its response was not stored.',
  ],
  invalid_api_key: [401, 'Missing or invalid API key.'],
  session_required: [401, 'You are not signed in.'],
  wrong_credentials: [401, 'Incorrect e-mail address or password.'],
  wrong_code: [401, 'Incorrect code.'],
  password_refused: [400, 'This password is not allowed. Choose a different one.'],
  link_invalid: [404, 'This link is invalid or has expired. Request a new one.'],
  insufficient_quota: [402, 'Insufficient balance for this request. Add funds and try again.'],
  spend_cap_exceeded: [402, 'A spend cap has been reached.'],
  permission_denied: [403, 'You do not have permission to do this.'],
  password_required: [403, 'Enter your password again to do this.'],
  cross_site: [403, 'Cross-site requests are not allowed. Use the console at its own address.'],
  operators_only: [403, 'Only operators can do this.'],
  no_account: [403, 'You do not have an account. Sign in to one to view its pages.'],
  sign_up_closed: [403, 'Sign-up is closed.'],
  invite_invalid: [403, 'This invite code is invalid or has expired.'],
  account_suspended: [403, 'This account is suspended.'],
  address_not_allowed: [403, 'This key cannot be used from your IP address.'],
  model_not_allowed: [403, 'This key is not allowed to use this model.'],
  model_not_found: [404, 'The model does not exist.'],
  response_not_found: [404, 'No response is stored.'],
  previous_response_not_found: [
    400,
    'The previous response was not found. Send the whole conversation in `input`.',
  ],
  not_found: [404, 'Not found.'],
  method_not_allowed: [405, 'Method not allowed.'],
  conflict: [409, 'This conflicts with an existing resource.'],
  request_too_large: [413, 'The request body is too large.'],
  unsupported_media_type: [415, 'Unsupported content type. Use application/json.'],
  rate_limit_exceeded: [429, 'Too many requests. Retry later.'],
  server_error: [500, 'Internal server error.'],
  payment_unavailable: [503, 'The payment provider cannot be reached. Try again.'],
  upstream_unavailable: [503, 'This model is temporarily unavailable.'],
  service_unavailable: [503, 'The service is temporarily unavailable.'],
} as const satisfies Record<string, readonly [status: number, message: string]>

/** The `type` of all errors with a status; `invalid_request_error` for every other one. */
const typesByStatus: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'insufficient_quota',
  403: 'permission_error',
  429: 'rate_limit_error',
  500: 'server_error',
  503: 'server_error',
}

/** How long to wait after a 503 before a retry, unless the error says otherwise. */
const unavailableRetryMs = 1000

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
  /** The content codings that a request body may have (RFC 9110, 15.5.16); sent as `Accept-Encoding`. */
  readonly acceptEncoding?: string
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
    const [status, message] = definitions[code]
    super(detail.message ?? message)
    this.name = 'ApiError'
    this.code = code
    this.detail = status === 503 ? { retryAfterMs: unavailableRetryMs, ...detail } : detail
  }

  get status(): number {
    return this.detail.status ?? definitions[this.code][0]
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
        type: typesByStatus[definitions[this.code][0]] ?? 'invalid_request_error',
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

/** 400 that names the field: `throw invalidField('name', 'must not be empty')`. */
export function invalidField(param: string, reason: string): ApiError {
  return apiError('invalid_request', { param, message: `${param} ${reason}.` })
}

/** 404: `throw notFound('Key')`. */
export function notFound(object: string): ApiError {
  return apiError('not_found', { message: `${object} not found.` })
}

/** The error itself if it is an `ApiError`. Every other error is a bug and becomes `server_error`, without its details. */
export function asApiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError('server_error')
}
