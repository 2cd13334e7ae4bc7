/** What the descriptions of the public interface are made of. */

export type Json = Readonly<Record<string, unknown>>

export function content(schema: Json, type = 'application/json'): Json {
  return { [type]: { schema } }
}

export function answer(description: string, schema: Json): Json {
  return { description, content: content(schema) }
}

export const refusals: Readonly<Record<string, string>> = {
  400: 'The request is not valid; `param` names the field.',
  401: 'The API key is missing or not valid.',
  402: 'The balance does not cover it (`insufficient_quota`) or a cap is reached (`spend_cap_exceeded`).',
  403: 'This key may not do that.',
  404: 'It does not exist.',
  409: 'A request with this `Idempotency-Key` still runs, or its answer was not kept.',
  413: 'The body is too large.',
  422: 'This `Idempotency-Key` was used with another body.',
  429: 'Too many requests; see `Retry-After`.',
  500: 'Something went wrong on our side.',
  503: 'Nothing can answer at the moment; see `Retry-After`.',
}

export const text = { type: 'string' }
export const amount = { type: 'string', description: 'An amount as a decimal string.' }
export const optionalAmount = { type: ['string', 'null'] }
export const count = { type: 'integer' }

export function object(properties: Json, required: readonly string[] = Object.keys(properties)): Json {
  return { type: 'object', properties, required }
}

export const keyed = { security: [{ key: [] }], tags: ['Relay'] }

export const idempotencyKey: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  schema: { type: 'string', pattern: '^[!-~]{1,255}$' },
  description:
    'For 24 hours the same key and body are answered what the first request was answered, and charged once.',
}
