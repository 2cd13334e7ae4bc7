/**
 * The document behind `/openapi.json`: the automation contract as its routes declare it, and the public interface,
 * which runs on raw node:http and is described here by hand.
 */
import type { OpenAPIHono } from '@hono/zod-openapi'
import { statusPaths } from './status.ts'
import { messagesPaths } from './anthropic.ts'
import {
  amount,
  answer,
  content,
  count,
  idempotencyKey,
  keyed,
  object,
  optionalAmount,
  refusals,
  text,
  type Json,
} from './schemas.ts'

const error: Json = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['message', 'type', 'param', 'code'],
      properties: {
        message: { type: 'string' },
        type: { type: 'string' },
        param: { type: ['string', 'null'] },
        code: { type: 'string' },
      },
    },
  },
}

function refusing(...statuses: number[]): Json {
  return Object.fromEntries(statuses.map((status) => [status, answer(refusals[status] ?? '', error)]))
}

const message = object({ role: text, content: {} }, ['role'])
const usage = object(
  {
    prompt_tokens: count,
    completion_tokens: count,
    total_tokens: count,
    cost: { type: 'number', description: 'In streams of callers who ask for usage.' },
  },
  ['prompt_tokens', 'completion_tokens', 'total_tokens'],
)

const chatRequest: Json = {
  ...object(
    {
      model: text,
      messages: { type: 'array', items: message, minItems: 1 },
      temperature: { type: 'number', minimum: 0, maximum: 2 },
      top_p: { type: 'number' },
      n: { type: 'integer', minimum: 1 },
      stream: { type: 'boolean' },
      stream_options: object({ include_usage: { type: 'boolean' } }, []),
      max_tokens: { type: 'integer', minimum: 1 },
      max_completion_tokens: { type: 'integer', minimum: 1 },
      presence_penalty: { type: 'number' },
      frequency_penalty: { type: 'number' },
    },
    ['model', 'messages'],
  ),
  additionalProperties: true,
  description: 'Further fields of the format are passed on as they are.',
}
const chatAnswer = object(
  {
    id: text,
    object: { const: 'chat.completion' },
    created: count,
    model: text,
    choices: {
      type: 'array',
      items: object({ index: count, message, finish_reason: { type: ['string', 'null'] } }, ['message']),
    },
    usage,
  },
  ['choices'],
)

const model = object({
  id: text,
  object: { const: 'model' },
  created: count,
  owned_by: text,
  context_length: count,
  max_output_tokens: { type: ['integer', 'null'] },
  pricing: object({ currency: text, unit: text, input: amount, output: amount }),
})
const balance = object({
  object: { const: 'balance' },
  currency: text,
  balance: amount,
  held: amount,
  available: { ...amount, description: 'What this key can still spend.' },
  spent_today: amount,
  spent_month: amount,
  caps: object({ daily: optionalAmount, monthly: optionalAmount }),
  key_caps: object({ daily: optionalAmount, monthly: optionalAmount, total: optionalAmount }),
})
const request = object({
  object: { const: 'request' },
  request_id: text,
  time: { type: 'string', format: 'date-time' },
  key: text,
  model: text,
  http_status: count,
  outcome: { enum: ['ok', 'refused', 'failed', 'truncated', 'aborted', 'ended'] },
  stream: { type: 'boolean' },
  finish: { type: ['string', 'null'] },
  prompt_tokens: count,
  cached_tokens: count,
  completion_tokens: count,
  reasoning_tokens: count,
  searches: count,
  usage_source: { enum: ['provider', 'estimate', null] },
  usage_clamped: {
    type: 'boolean',
    description: 'The provider claimed more than the model can hold; charged up to that.',
  },
  cost: amount,
  currency: text,
  first_token_ms: { type: ['number', 'null'] },
  duration_ms: { type: 'number' },
})

const open = { security: [], tags: ['Operation'] }

function parameter(name: string, place: 'path' | 'query'): Json {
  return { name, in: place, required: place === 'path', schema: text }
}

function reading(summary: string, schema: Json, parameters: readonly Json[] = []): Json {
  const responses = {
    200: answer(summary, schema),
    ...refusing(401, 403, ...(parameters.length ? [404] : [])),
  }
  return { get: { ...keyed, summary, parameters, responses } }
}

const relayPaths: Json = {
  '/v1/chat/completions': {
    post: {
      ...keyed,
      summary: 'Ask a model',
      parameters: [idempotencyKey],
      requestBody: { required: true, content: content(chatRequest) },
      responses: {
        200: {
          description:
            'The answer, with its cost in `x-sluice-cost`; with `stream: true` chunks as server-sent events, ended by `data: [DONE]`, or by `data: {"error": …}` without it.',
          headers: {
            'x-request-id': { schema: text },
            'x-sluice-cost': { schema: amount, description: 'Of a whole answer.' },
            'idempotent-replayed': {
              schema: { const: 'true' },
              description: 'This is the answer to the first request with the `Idempotency-Key`.',
            },
          },
          content: { ...content(chatAnswer), ...content(text, 'text/event-stream') },
        },
        ...refusing(400, 401, 402, 403, 404, 409, 413, 422, 429, 500, 503),
      },
    },
  },
  '/v1/models': reading(
    'The models that this key may call',
    object({ object: { const: 'list' }, data: { type: 'array', items: model } }),
  ),
  '/v1/models/{model}': reading('One model', model, [parameter('model', 'path')]),
  '/v1/balance': reading('What the account has', balance),
  '/v1/requests/{request_id}': reading('One request of the own account: tokens and cost', request, [
    parameter('request_id', 'path'),
  ]),
  '/v1/dashboard/billing/subscription': reading(
    'The account’s limit, as clients of other relays ask for it',
    object({
      object: { const: 'billing_subscription' },
      has_payment_method: { type: 'boolean' },
      soft_limit_usd: { type: 'number', description: 'In the platform’s currency.' },
      hard_limit_usd: { type: 'number' },
      system_hard_limit_usd: { type: 'number' },
      access_until: { type: 'integer', description: 'Seconds since the epoch; 0 never ends.' },
    }),
  ),
  '/v1/dashboard/billing/usage': reading(
    'What the account used, in hundredths',
    object({ object: { const: 'list' }, total_usage: { type: 'number' } }),
    [parameter('start_date', 'query'), parameter('end_date', 'query')],
  ),
}

function probe(summary: string, responses: Json): Json {
  return { get: { ...open, summary, responses } }
}

const state = answer('Yes.', object({ status: text }))

const operationPaths: Json = {
  '/healthz': probe('Is it alive?', { 200: state }),
  '/readyz': probe('Is it ready for traffic?', { 200: state, ...refusing(503) }),
  '/openapi.json': probe('This document', { 200: answer('OpenAPI 3.1.', { type: 'object' }) }),
  '/metrics': probe('Prometheus metrics of the process', {
    200: { description: 'Text.', content: content(text, 'text/plain') },
  }),
  ...statusPaths,
}

/** The whole document (OpenAPI 3.1), plain JSON. `app` is the one of `createAdminApp`. */
export function openapiDocument(app: OpenAPIHono, version: string): Json {
  const { paths = {}, components = {} } = app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: { title: 'Sluice', version },
    security: [{ admin: [] }],
  })
  const administered = Object.entries(paths).map(([path, calls]) => [path, tagged(calls)] as const)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Sluice',
      version,
      description: 'A relay in front of AI language models: one interface, many providers, exact money.',
    },
    servers: [{ url: '/' }],
    security: [{ admin: [] }],
    tags: [{ name: 'Relay' }, { name: 'Administration' }, { name: 'Operation' }, { name: 'Status' }],
    paths: { ...relayPaths, ...messagesPaths, ...operationPaths, ...Object.fromEntries(administered) },
    components: {
      ...components,
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'An API key of an account.' },
        messagesKey: {
          type: 'apiKey',
          in: 'header',
          name: 'x-api-key',
          description: 'The same key, as clients of Anthropic’s format send it.',
        },
        admin: { type: 'http', scheme: 'bearer', description: 'ADMIN_API_KEY.' },
      },
    },
  }
}

function tagged(calls: object): Json {
  const tag = (call: unknown): unknown =>
    typeof call === 'object' && call !== null ? { ...call, tags: ['Administration'] } : call
  return Object.fromEntries(Object.entries(calls).map(([method, call]) => [method, tag(call)]))
}
