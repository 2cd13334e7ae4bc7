/**
 * Every refusal the product can give, in one table: code → status, type, public words.
 * Any floor throws `refuse(code)`; one place (http/) turns it into the body of the format,
 * `{ "error": { "message", "type", "param", "code" } }`, all four always present.
 */

interface RefusalKind {
  readonly status: number
  readonly type: string
  readonly message: string
  /** Answered as `x-should-retry: false`: repeating the call cannot help. */
  readonly final?: boolean
  /** When to come again, where the refusal itself does not know better. */
  readonly retryAfterMs?: number
}

const kinds = {
  invalid_request: { status: 400, type: 'invalid_request_error', message: 'The request is not valid.' },
  invalid_json: { status: 400, type: 'invalid_request_error', message: 'The body is not valid JSON.' },
  idempotency_key_reused: {
    status: 422,
    type: 'invalid_request_error',
    message: 'This Idempotency-Key was used before with another body.',
    final: true,
  },
  idempotency_conflict: {
    status: 409,
    type: 'invalid_request_error',
    message: 'A request with this Idempotency-Key is still running, or its answer was not kept.',
  },
  invalid_api_key: {
    status: 401,
    type: 'authentication_error',
    message: 'The API key is missing or not valid.',
  },
  session_required: { status: 401, type: 'authentication_error', message: 'Sign in first.' },
  wrong_credentials: {
    status: 401,
    type: 'authentication_error',
    message: 'The e-mail address and the password do not belong together.',
  },
  wrong_code: { status: 401, type: 'authentication_error', message: 'This code is not right.' },
  password_refused: {
    status: 400,
    type: 'invalid_request_error',
    message: 'This password cannot be taken. Choose another one.',
  },
  link_invalid: {
    status: 404,
    type: 'invalid_request_error',
    message: 'This link is not valid any more. Ask for a new one.',
  },
  insufficient_quota: {
    status: 402,
    type: 'insufficient_quota',
    message: 'The balance does not cover this request. Recharge, then try again.',
    final: true,
  },
  spend_cap_exceeded: {
    status: 402,
    type: 'insufficient_quota',
    message: 'A spend cap is reached.',
    final: true,
  },
  permission_denied: { status: 403, type: 'permission_error', message: 'This key may not do that.' },
  cross_site: {
    status: 403,
    type: 'permission_error',
    message: 'This can only be asked by the console itself, on its own address.',
  },
  operators_only: { status: 403, type: 'permission_error', message: 'Only operators may do that.' },
  no_account: {
    status: 403,
    type: 'permission_error',
    message: 'You have no account of your own. Sign in as one to see its pages.',
  },
  sign_up_closed: { status: 403, type: 'permission_error', message: 'New accounts are not taken here.' },
  invite_invalid: {
    status: 403,
    type: 'permission_error',
    message: 'This invite code is not valid, or no longer.',
  },
  account_suspended: { status: 403, type: 'permission_error', message: 'This account is suspended.' },
  address_not_allowed: {
    status: 403,
    type: 'permission_error',
    message: 'This key may not be used from your address.',
  },
  model_not_allowed: { status: 403, type: 'permission_error', message: 'This key may not call this model.' },
  model_not_found: { status: 404, type: 'invalid_request_error', message: 'The model does not exist.' },
  not_found: { status: 404, type: 'invalid_request_error', message: 'There is nothing here.' },
  method_not_allowed: {
    status: 405,
    type: 'invalid_request_error',
    message: 'This method is not allowed here.',
  },
  conflict: { status: 409, type: 'invalid_request_error', message: 'This conflicts with what exists.' },
  request_too_large: { status: 413, type: 'invalid_request_error', message: 'The body is too large.' },
  unsupported_media_type: {
    status: 415,
    type: 'invalid_request_error',
    message: 'The body has to be application/json.',
  },
  rate_limit_exceeded: { status: 429, type: 'rate_limit_error', message: 'Too many requests. Slow down.' },
  server_error: { status: 500, type: 'server_error', message: 'Something went wrong on our side.' },
  upstream_unavailable: {
    status: 503,
    type: 'server_error',
    message: 'No provider of this model can answer at the moment. Try again shortly.',
    retryAfterMs: 1000,
  },
  service_unavailable: {
    status: 503,
    type: 'server_error',
    message: 'The service cannot take requests at the moment.',
    retryAfterMs: 1000,
  },
} as const satisfies Record<string, RefusalKind>

export type RefusalCode = keyof typeof kinds

export interface RefusalDetail {
  /** Replaces the table's public words. */
  readonly message?: string
  /** The request field at fault, as a path: `messages[0].role`. */
  readonly param?: string
  /** Another status than the table's: the one an upstream answered with. */
  readonly status?: number
  /** Another code than the table's: the one an upstream answered with. */
  readonly code?: string
  /** Milliseconds after which the same call is admitted; becomes `Retry-After`. */
  readonly retryAfterMs?: number
  /** Overrides the table's word on whether repeating can help. */
  readonly final?: boolean
}

/** Our no to a caller. Carries nothing that is not fit to be shown. */
export class Refusal extends Error {
  readonly code: RefusalCode
  readonly detail: RefusalDetail

  constructor(code: RefusalCode, detail: RefusalDetail = {}) {
    super(detail.message ?? kinds[code].message)
    this.name = 'Refusal'
    this.code = code
    const { retryAfterMs }: RefusalKind = kinds[code]
    this.detail = retryAfterMs === undefined ? detail : { retryAfterMs, ...detail }
  }

  get status(): number {
    return this.detail.status ?? kinds[this.code].status
  }

  /** True when repeating the call cannot help. */
  get final(): boolean {
    const kind: RefusalKind = kinds[this.code]
    return this.detail.final ?? kind.final ?? false
  }

  /** The body of the format (design: `{"error": {message, type, param, code}}`). */
  toBody(): { error: { message: string; type: string; param: string | null; code: string } } {
    return {
      error: {
        message: this.message,
        type: kinds[this.code].type,
        param: this.detail.param ?? null,
        code: this.detail.code ?? this.code,
      },
    }
  }
}

/** Makes a refusal to throw: `throw refuse('model_not_found', { param: 'model' })`. */
export function refuse(code: RefusalCode, detail?: RefusalDetail): Refusal {
  return new Refusal(code, detail)
}

/** A refusal for the errors somebody meant to give; every other error is our bug and is shown as nothing. */
export function refusalOf(error: unknown): Refusal {
  return error instanceof Refusal ? error : new Refusal('server_error')
}
