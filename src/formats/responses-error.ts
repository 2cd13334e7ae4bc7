/** Errors in the words of the Responses API. */
import { apiError, type ApiError } from '../errors.ts'
import { lookup } from '../providers/json-fields.ts'
import { encodeResponsesEvent } from './responses-event-log.ts'

/** The caller's names of fields that the translation has renamed. */
const callerFields: Readonly<Record<string, string>> = {
  messages: 'input',
  response_format: 'text.format',
  reasoning_effort: 'reasoning.effort',
  max_tokens: 'max_output_tokens',
  max_completion_tokens: 'max_output_tokens',
}

/** The error with the caller's name of the field: providers name the field of the translated request. */
export function withCallerField(error: ApiError): ApiError {
  const { param, ...detail } = error.detail
  const field = param === undefined ? undefined : lookup(callerFields, param.split(/[.[]/, 1)[0] ?? '')
  if (param === undefined || field === undefined) return error
  const message = error.message.replace(`\`${param}\``, `\`${field}\``)
  return apiError(error.code, { ...detail, param: field, message })
}

/**
 * The event `error` of a stream. OpenAI's schema has its fields at the top, which typed clients read; OpenAI's own
 * libraries look for `error`.
 */
export function encodeErrorEvent(error: ApiError, sequence: number): Buffer {
  const { type, code, message, param } = error.toBody().error
  return encodeResponsesEvent('error', sequence, {
    code,
    message,
    param,
    error: { type, code, message, param },
  })
}
