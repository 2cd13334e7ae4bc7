/**
 * The document of `/openapi.json`: the admin API as its endpoints declare it, and the public API, which runs on raw
 * node:http and is described here by hand.
 */
import type { Endpoint } from '../api/endpoint.ts'
import { describeEndpoints } from './endpoints.ts'
import { publicPagePaths } from './public-pages.ts'
import { messagesPaths } from './anthropic.ts'
import { completionPaths } from './completions.ts'
import { embeddingPaths } from './embeddings.ts'
import { responsesPaths } from './responses.ts'
import {
  amount,
  jsonResponse,
  content,
  count,
  adminIdempotencyKey,
  idempotencyKey,
  replayedHeader,
  withApiKey,
  object,
  optionalAmount,
  errorResponses,
  text,
  type Json,
} from './schemas.ts'

const error = object({
  error: object({ message: text, type: text, param: { type: ['string', 'null'] }, code: text }),
})

const message = object({ role: text, content: {} }, ['role'])
const usage = object(
  {
    prompt_tokens: count,
    completion_tokens: count,
    total_tokens: count,
    cost: { type: 'number', description: 'In streams with `stream_options.include_usage`.' },
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
  description: 'Other fields of OpenAI’s API are passed through unchanged.',
}
const chatResponse = object(
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
  operations: { type: 'array', items: text, description: 'What the model can do, as `chat`.' },
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
  clamped: {
    type: 'boolean',
    description:
      'The provider reported more than the request asked for or the model can have. The charge is limited to that.',
  },
  usage_clamped: { type: 'boolean', description: 'As `clamped`.' },
  cost: amount,
  currency: text,
  first_token_ms: { type: ['number', 'null'] },
  duration_ms: { type: 'number' },
  error_code: { type: ['string', 'null'] },
  operation: {
    type: ['string', 'null'],
    description: 'What was requested, as `chat` or `messages`; null if it was rejected.',
  },
  service_tier: {
    type: ['string', 'null'],
    description: 'The service tier that it was billed at; null if nothing was billed.',
  },
  units: {
    type: 'object',
    description: 'What was billed beside text tokens, such as `input_audio_tokens`; empty if nothing was.',
  },
  model_served: {
    type: ['string', 'null'],
    description:
      'The provider’s name for the model; null if it does not say, or the relay has a name of its own.',
  },
  provider_response_id: { type: ['string', 'null'], description: 'The response’s id at the provider.' },
  fingerprint: {
    type: ['string', 'null'],
    description: 'The version of the provider’s system: `system_fingerprint` in its response.',
  },
  count: {
    ...count,
    description:
      'How many rejected requests this stands for: beyond 60 a minute, those of a key with the same error share one record.',
  },
})

const publicOperation = { security: [], tags: ['Operation'] }

function parameter(name: string, place: 'path' | 'query'): Json {
  return { name, in: place, required: place === 'path', schema: text }
}

function readOperation(summary: string, schema: Json, parameters: readonly Json[] = []): Json {
  const responses = {
    200: jsonResponse(summary, schema),
    ...errorResponses(error, 401, 403, ...(parameters.length ? [404] : [])),
  }
  return { get: { ...withApiKey, summary, parameters, responses } }
}

const relayPaths: Json = {
  '/v1/chat/completions': {
    post: {
      ...withApiKey,
      summary: 'Create a chat completion',
      parameters: [idempotencyKey],
      requestBody: { required: true, content: content(chatRequest) },
      responses: {
        200: {
          description:
            'The completion, with its cost in `x-sluice-cost`. With `stream: true`, chunks are sent as server-sent events, followed by `data: [DONE]`; after an error, `data: {"error": …}` is the last event instead.',
          headers: {
            'x-request-id': { schema: text },
            'x-sluice-cost': { schema: amount, description: 'Only in non-streaming responses.' },
            ...replayedHeader,
          },
          content: { ...content(chatResponse), ...content(text, 'text/event-stream') },
        },
        ...errorResponses(error, 400, 401, 402, 403, 404, 409, 413, 422, 429, 500, 503),
      },
    },
  },
  '/v1/models': readOperation(
    'List the models that this key may use',
    object({ object: { const: 'list' }, data: { type: 'array', items: model } }),
  ),
  '/v1/models/{model}': readOperation('Retrieve a model', model, [parameter('model', 'path')]),
  '/v1/balance': readOperation('Retrieve the account’s balance', balance),
  '/v1/requests/{request_id}': readOperation('Retrieve a request with its tokens and cost', request, [
    parameter('request_id', 'path'),
  ]),
  '/v1/dashboard/billing/subscription': readOperation(
    'Retrieve the account’s limit, for clients of other relays',
    object({
      object: { const: 'billing_subscription' },
      has_payment_method: { type: 'boolean' },
      soft_limit_usd: { type: 'number', description: 'In the platform’s currency.' },
      hard_limit_usd: { type: 'number' },
      system_hard_limit_usd: { type: 'number' },
      access_until: { type: 'integer', description: 'Seconds since the epoch; 0: never expires.' },
    }),
  ),
  '/v1/dashboard/billing/usage': readOperation(
    'Retrieve the account’s usage, in hundredths, for clients of other relays',
    object({ object: { const: 'list' }, total_usage: { type: 'number' } }),
    [parameter('start_date', 'query'), parameter('end_date', 'query')],
  ),
}

function probe(summary: string, responses: Json): Json {
  return { get: { ...publicOperation, summary, responses } }
}

const state = jsonResponse('OK.', object({ status: text }))

const operationPaths: Json = {
  '/healthz': probe('Liveness probe', { 200: state }),
  '/readyz': probe('Readiness probe', { 200: state, ...errorResponses(error, 503) }),
  '/openapi.json': probe('This document', { 200: jsonResponse('OpenAPI 3.1.', { type: 'object' }) }),
  '/metrics': probe('Prometheus metrics of the process', {
    200: { description: 'Metrics in Prometheus’ text format.', content: content(text, 'text/plain') },
  }),
  ...publicPagePaths,
}

interface Operation {
  readonly parameters?: readonly Json[]
  readonly responses: Readonly<Record<string, Json>>
}

/** The whole document (OpenAPI 3.1) as plain JSON, with the endpoints of the admin API under `adminPath`. */
export function openapiDocument(adminPath: string, endpoints: readonly Endpoint[], version: string): Json {
  const { paths = {}, components = {} } = describeEndpoints(adminPath, endpoints)
  const adminPaths = Object.entries(paths).map(
    ([path, operations]) => [path, describeAdministration(operations)] as const,
  )
  return {
    openapi: '3.1.0',
    info: {
      title: 'Sluice',
      version,
      description: 'A relay in front of AI language models: one interface, many providers, exact money.',
    },
    servers: [{ url: '/' }],
    security: [{ admin: [] }],
    tags: ['Relay', 'Administration', 'Operation', 'Status', 'Public pages'].map((name) => ({ name })),
    paths: {
      ...relayPaths,
      ...responsesPaths(error),
      ...completionPaths(error),
      ...embeddingPaths(error),
      ...messagesPaths,
      ...operationPaths,
      ...Object.fromEntries(adminPaths),
    },
    components: {
      ...components,
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'An API key of an account.' },
        messagesKey: {
          type: 'apiKey',
          in: 'header',
          name: 'x-api-key',
          description: 'The same API key, as Anthropic’s clients send it.',
        },
        admin: { type: 'http', scheme: 'bearer', description: 'ADMIN_API_KEY.' },
      },
    },
  }
}

/** Adds what all endpoints of the admin API have in common. */
function describeAdministration(operations: object): Json {
  const described = Object.entries(operations).map(([method, operation]: [string, Operation]) => {
    const call = method === 'post' ? withIdempotencyKey(operation) : operation
    return [method, { ...call, tags: ['Administration'] }] as const
  })
  return Object.fromEntries(described)
}

function withIdempotencyKey(operation: Operation): Operation {
  const { parameters = [], responses } = operation
  const described = Object.entries(responses).map(([status, response]): [string, Json] => [
    status,
    Number(status) < 300 ? { ...response, headers: replayedHeader } : response,
  ])
  return {
    ...operation,
    parameters: [...parameters, adminIdempotencyKey],
    responses: { ...Object.fromEntries(described), ...errorResponses(error, 422) },
  }
}
