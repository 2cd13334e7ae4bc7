/** The building blocks of the public API's description. */

export type Json = Readonly<Record<string, unknown>>

export function content(schema: Json, type = 'application/json'): Json {
  return { [type]: { schema } }
}

export function jsonResponse(description: string, schema: Json): Json {
  return { description, content: content(schema) }
}

const errorDescriptions: Readonly<Record<string, string>> = {
  400: 'Invalid request; `param` names the field.',
  401: 'Missing or invalid API key.',
  402: 'Insufficient balance (`insufficient_quota`), or a spend cap has been reached (`spend_cap_exceeded`).',
  403: 'The key is not allowed to do this.',
  404: 'Not found.',
  409: 'A request with this `Idempotency-Key` is still in progress, or its response was not stored.',
  413: 'The request body is too large.',
  422: 'This `Idempotency-Key` was already used with a different request body.',
  429: 'Rate limit exceeded; see `Retry-After`.',
  500: 'Internal server error.',
  503: 'Temporarily unavailable; see `Retry-After`.',
}

export const text = { type: 'string' }
export const amount = { type: 'string', description: 'An amount as a decimal string.' }
export const optionalAmount = { type: ['string', 'null'] }
export const count = { type: 'integer' }

export function object(properties: Json, required: readonly string[] = Object.keys(properties)): Json {
  return { type: 'object', properties, required }
}

/** The responses with these statuses, whose bodies have the schema `error`. */
export function errorResponses(error: Json, ...statuses: number[]): Record<string, Json> {
  return Object.fromEntries(
    statuses.map((status) => [status, jsonResponse(errorDescriptions[status] ?? '', error)]),
  )
}

export const withApiKey = { security: [{ key: [] }], tags: ['Relay'] }

export const idempotencyKey: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  schema: { type: 'string', pattern: '^[!-~]{1,255}$' },
  description:
    'For 24 hours, requests with the same key and body get the response to the first one and are charged once.',
}
export const adminIdempotencyKey: Json = {
  ...idempotencyKey,
  description:
    'For 24 hours, calls of one administrator with the same key and body get the response to the first one and take effect once. A call that was rejected (4xx) frees its key; one that failed or was interrupted is not executed again (409).',
}
export const replayedHeader: Json = {
  'idempotent-replayed': {
    schema: { const: 'true' },
    description: 'This is the stored response to the first request with this `Idempotency-Key`.',
  },
}
