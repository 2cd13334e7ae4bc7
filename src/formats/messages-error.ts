/** API errors in Anthropic's format, `{type: "error", error: {type, message}, request_id}`, plus our code. */
import type { ApiError } from '../errors.ts'
import { omitUndefined, type Json } from '../providers/json-fields.ts'
import { encodeMessagesEvent } from './messages-events.ts'

/** Error types by status (Anthropic, "Errors"). Other statuses are invalid requests below 500, and ours above. */
const errorTypes: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  500: 'api_error',
  503: 'overloaded_error',
  504: 'timeout_error',
}

function errorFields(apiError: ApiError, requestId: string): Json {
  const { status } = apiError
  const { param, code, message: given } = apiError.toBody().error
  const message = apiError.code === 'context_length_exceeded' ? inClaudesWords(given) : given
  const type = errorTypes[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error')
  const { details } = apiError.detail
  const error = omitUndefined({ type, message, param: param ?? undefined, code, details })
  return { error, request_id: requestId }
}

/** Claude Code compacts a conversation when an error begins with these words. */
function inClaudesWords(message: string): string {
  const own = /prompt is too long: .*/is.exec(message)?.[0]
  return own ?? `prompt is too long: ${message}`
}

export function messagesErrorBody(apiError: ApiError, requestId: string): Json {
  return { type: 'error', ...errorFields(apiError, requestId) }
}

/** The last event of an incomplete stream. */
export function messagesErrorEvent(apiError: ApiError, requestId: string): Buffer {
  return encodeMessagesEvent('error', errorFields(apiError, requestId))
}
