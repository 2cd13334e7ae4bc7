/** A refusal in Anthropic's words: `{type: "error", error: {type, message}, request_id}`, with our code beside them. */
import type { Refusal } from '../errors.ts'
import { present, type Json } from '../providers/json-fields.ts'
import { eventOf } from './messages-events.ts'

/** Anthropic, "Errors"; what is not there is the caller's to mend below 500, and ours above. */
const types: Readonly<Record<number, string>> = {
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

function fieldsOf(refusal: Refusal, requestId: string): Json {
  const { status } = refusal
  const { message, param, code } = refusal.toBody().error
  const type = types[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error')
  return { error: present({ type, message, param: param ?? undefined, code }), request_id: requestId }
}

export function messagesErrorBody(refusal: Refusal, requestId: string): Json {
  return { type: 'error', ...fieldsOf(refusal, requestId) }
}

/** The last event of a stream that broke off. */
export function messagesErrorEvent(refusal: Refusal, requestId: string): Buffer {
  return eventOf('error', fieldsOf(refusal, requestId))
}
