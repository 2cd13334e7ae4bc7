/**
 * Upstream errors, and the API errors that they become for the caller if no other upstream helps: the caller's own
 * mistakes keep their status, a rate limit keeps 429, everything else is 503. An upstream's 401 is the operator's to
 * fix, never the caller's.
 */
import { apiError, type ApiError } from '../../errors.ts'
import { parseBoundedJson } from '../../lib/json/bounded-json.ts'
import { isContextTooLong } from '../../providers/context-errors.ts'
import type { FailureResponse } from '../../providers/provider.ts'
import { isObject, type Json } from '../../providers/json-fields.ts'
import { maxMessageLength, redactSecrets } from './secrets.ts'

export type UpstreamErrorKind =
  /** The request is invalid: every upstream would reject it. */
  | 'request'
  /** Not found at this upstream; another one may have it. */
  | 'missing'
  /** The provider's API format cannot express the request, so it was not sent; another upstream may take it. */
  | 'unsupported'
  | 'rate'
  | 'credential'
  | 'unavailable'
  | 'timeout'
  | 'connection'
  | 'garbage'
  /** Our own side does not allow the call, such as to this address. */
  | 'forbidden'

/** What a body says about an error. */
interface ErrorDetail {
  /**
   * The upstream's message without secrets, which callers see if their request is invalid; ours if there was no
   * response.
   */
  readonly message: string
  readonly param: string | null
  readonly code: string | null
  /** `error.details` of Anthropic's format without secrets, by which its libraries recognize errors. */
  readonly details: Json | null
  /** The error of the upstream behind a gateway, which it passes on as text (OpenRouter, "Errors"). */
  readonly raw?: string
}

export interface UpstreamError extends ErrorDetail {
  readonly kind: UpstreamErrorKind
  /** The upstream's status; `null` if there was no response. */
  readonly status: number | null
  readonly retryAfterMs: number | null
  /** The prompt is longer than the context, which is reported in the words of the caller's format. */
  readonly isContextTooLong?: true
}

function detailOf(message: string, code: string | null = null): ErrorDetail {
  return { message, param: null, code, details: null }
}

export function upstreamError(
  kind: UpstreamErrorKind,
  message: string,
  status: number | null = null,
): UpstreamError {
  return { kind, status, ...detailOf(message), retryAfterMs: null }
}

/** Should the next upstream be tried? */
export function shouldFailOver(kind: UpstreamErrorKind): boolean {
  return kind !== 'request'
}

function kindFromStatus(status: number): UpstreamErrorKind {
  switch (status) {
    case 400:
    case 413:
    case 422:
      return 'request'
    case 404:
      return 'missing'
    case 429:
      return 'rate'
    case 401:
    case 402:
    case 403:
      return 'credential'
    default:
      return 'unavailable'
  }
}

function nonEmptyString(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

/** The error in a body, in any of the shapes that providers use, or `null`. */
export function parseErrorBody(body: unknown): ErrorDetail | null {
  if (!isObject(body)) return null
  const { error } = body
  if (typeof error === 'string' && error !== '') return detailOf(error)
  if (isObject(error)) {
    const message =
      nonEmptyString(error['message']) ??
      nonEmptyString(error['type']) ??
      nonEmptyString(error['code']) ??
      'error'
    return {
      message,
      param: nonEmptyString(error['param']),
      code: nonEmptyString(error['code']) ?? nonEmptyString(error['status']),
      details: isObject(error['details']) ? error['details'] : null,
      ...rawError(error['metadata']),
    }
  }
  return null
}

function rawError(metadata: unknown): { readonly raw?: string } {
  const raw = isObject(metadata) ? nonEmptyString(metadata['raw']) : null
  return raw === null ? {} : { raw }
}

/** The status that an error inside a 200 contains, if any. */
export function statusFromErrorBody(body: unknown): number | null {
  if (!isObject(body) || !isObject(body['error'])) return null
  for (const value of [body['error']['status'], body['error']['code'], body['error']['status_code']]) {
    const status = Number(value)
    if (Number.isInteger(status) && status >= 400 && status <= 599) return status
  }
  return null
}

/** The parsed body; `null` if it is not JSON, such as an error page of a proxy. */
function parseJson(bytes: Buffer): unknown {
  try {
    const body = parseBoundedJson(bytes.toString('utf8'))
    // For a streaming request, Google puts the error into an array.
    return Array.isArray(body) && body.length === 1 ? body[0] : body
  } catch {
    return null
  }
}

/** A message, or what some validators send instead: the invalid fields as an array or object. */
function textOrJson(value: unknown): string | null {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : nonEmptyString(value)
}

/** A body that is not JSON may contain anything, so none of it is used. */
function errorDetailFrom(body: unknown): ErrorDetail {
  const detail = parseErrorBody(body)
  if (detail) return detail
  if (isObject(body)) {
    const message = textOrJson(body['message']) ?? textOrJson(body['detail'])
    if (message) return detailOf(message, nonEmptyString(body['code']))
  }
  return detailOf('The provider rejected the request.')
}

/** Google's google.rpc.RetryInfo: `{"retryDelay": "34.4s"}` among the details. */
function googleRetryDelay(body: unknown): string | null {
  const error = isObject(body) ? body['error'] : undefined
  const details = isObject(error) ? error['details'] : undefined
  if (!Array.isArray(details)) return null
  for (const detail of details) {
    const delay: unknown = isObject(detail) ? detail['retryDelay'] : undefined
    if (typeof delay === 'string' && delay.endsWith('s')) return delay.slice(0, -1)
  }
  return null
}

/** At most a day, whatever a provider's clock says. */
const maxRetryAfterMs = 86_400_000

/** Parses `Retry-After`, which is seconds or a date (RFC 9110, 10.2.3), into milliseconds. */
export function parseRetryAfter(header: string | null, now: number): number | null {
  if (header === null) return null
  if (/^\d+(\.\d+)?$/.test(header)) return Math.min(Number(header) * 1000, maxRetryAfterMs)
  const date = Date.parse(header)
  return Number.isNaN(date) ? null : Math.min(Math.max(0, date - now), maxRetryAfterMs)
}

function redactDetail({ message, param, code, details, raw }: ErrorDetail, credential: string): ErrorDetail {
  const clean = (text: string | null): string | null => text && redactSecrets(text, credential)
  return {
    message: redactSecrets(message, credential),
    param: clean(param),
    code: clean(code),
    details: details && redactDetails(details, credential),
    ...(raw === undefined ? {} : { raw: redactSecrets(raw, credential) }),
  }
}

/** `null`: they are too long, or a secret in them was not a value. */
function redactDetails(details: Json, credential: string): Json | null {
  const text = JSON.stringify(details)
  if (text.length > maxMessageLength) return null
  const redacted = parseJson(Buffer.from(redactSecrets(text, credential)))
  return isObject(redacted) ? redacted : null
}

/** Response headers that explain an error. */
export interface ErrorHeaders {
  readonly retryAfter: string | null
  /** The error type in Amazon's header. */
  readonly errorType: string | null
}

/** The error of a response that is not 200. */
export function upstreamErrorFromResponse(
  failure: ErrorHeaders & { readonly status: number; readonly bytes: Buffer },
  about: {
    readonly credential: string
    readonly now: number
    readonly provider?: { effectiveStatus?(failure: FailureResponse): number }
  },
): UpstreamError {
  const { errorType, retryAfter } = failure
  const body = parseJson(failure.bytes)
  const status =
    about.provider?.effectiveStatus?.({ status: failure.status, body, errorType }) ?? failure.status
  return {
    kind: kindFromStatus(status),
    status,
    ...redactDetail(errorDetailFrom(body), about.credential),
    retryAfterMs: parseRetryAfter(retryAfter ?? googleRetryDelay(body), about.now),
  }
}

/** The error of a 200 whose body, or first event, is an error. */
export function upstreamErrorFromBody(body: unknown, credential: string): UpstreamError {
  const detail = parseErrorBody(body) ?? detailOf('error')
  const status = statusFromErrorBody(body)
  return {
    kind: status === null ? 'unavailable' : kindFromStatus(status),
    status: status ?? 200,
    ...redactDetail(detail, credential),
    retryAfterMs: null,
  }
}

const actionability: Record<UpstreamErrorKind, number> = {
  request: 4,
  missing: 3,
  unavailable: 2,
  credential: 2,
  timeout: 2,
  connection: 2,
  garbage: 2,
  forbidden: 2,
  rate: 1,
  unsupported: 0,
}

/** The error that helps the caller most, if all upstreams failed. */
export function mostActionableError(errors: readonly UpstreamError[]): UpstreamError {
  const [first = upstreamError('unavailable', 'No upstream was tried.'), ...rest] = errors
  return rest.reduce(
    (best, each) => (actionability[each.kind] > actionability[best.kind] ? each : best),
    first,
  )
}

/**
 * The error as the class *context too long*, if it is one: invalid for every upstream of the model, whatever status the
 * provider gives it. `isTranslated`: the provider's own words would mean nothing to the caller's client.
 */
export function withContextClass(
  error: UpstreamError,
  provider: string,
  isTranslated: boolean,
): UpstreamError {
  if (!isContextTooLong(provider, error)) return error
  return { ...error, kind: 'request', ...(isTranslated ? { isContextTooLong: true } : {}) }
}

/** A summary for the log and the circuits. It has no text of an upstream, which may repeat the caller's. */
export function errorSummary(error: UpstreamError): string {
  return error.status === null ? error.message : `${error.kind}, status ${error.status}`
}

/** The error for the caller. */
export function apiErrorFromUpstream(error: UpstreamError): ApiError {
  if (error.isContextTooLong) {
    const message = error.raw ?? error.message
    return apiError('context_length_exceeded', {
      message,
      ...(error.param === null ? {} : { param: error.param }),
    })
  }
  switch (error.kind) {
    case 'request':
    case 'missing':
    case 'unsupported':
      return apiError('invalid_request', {
        status: error.status ?? 400,
        message: error.message,
        ...(error.param === null ? {} : { param: error.param }),
        ...(error.code === null ? {} : { code: error.code }),
        ...(error.details === null ? {} : { details: error.details }),
      })
    case 'rate':
      return apiError('rate_limit_exceeded', {
        message: 'This model is rate limited by its provider. Try again shortly.',
        retryAfterMs: error.retryAfterMs ?? 1000,
      })
    default:
      return apiError('upstream_unavailable', { retryAfterMs: error.retryAfterMs ?? 1000 })
  }
}
