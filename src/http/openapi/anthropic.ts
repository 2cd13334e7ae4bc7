/** The description of Anthropic's API for `/openapi.json`. */
import {
  amount,
  jsonResponse,
  content,
  count,
  idempotencyKey,
  object,
  errorResponses,
  text,
  type Json,
} from './schemas.ts'

const error = object({
  type: { const: 'error' },
  error: object({ type: text, message: text, param: text, code: text }, ['type', 'message', 'code']),
  request_id: text,
})

const blocks = { type: ['string', 'array'], items: object({ type: text }) }

const request = {
  model: text,
  messages: { type: 'array', items: object({ role: text, content: blocks }), minItems: 1 },
  system: blocks,
  tools: { type: 'array', items: { type: 'object' } },
  thinking: { type: 'object' },
}

function requestSchema(fields: Json, required: readonly string[]): Json {
  return {
    ...object({ ...request, ...fields }, required),
    additionalProperties: true,
    description: 'Other fields of Anthropic’s Messages API are passed to upstreams that implement it.',
  }
}

const messageResponse = object({
  id: text,
  type: { const: 'message' },
  role: { const: 'assistant' },
  model: text,
  content: { type: 'array', items: object({ type: text }) },
  stop_reason: text,
  stop_sequence: { type: ['string', 'null'] },
  usage: object({
    input_tokens: count,
    cache_creation_input_tokens: count,
    cache_read_input_tokens: count,
    output_tokens: count,
  }),
})

const withMessagesKey = { security: [{ messagesKey: [] }, { key: [] }], tags: ['Relay'] }

function header(name: string, description: string): Json {
  return { name, in: 'header', required: false, schema: text, description }
}

const headers = [
  header('anthropic-version', 'Passed to upstreams with Anthropic’s API. Default: 2023-06-01.'),
  header('anthropic-beta', 'Passed to upstreams with Anthropic’s API only.'),
]

export const messagesPaths: Json = {
  '/v1/messages': {
    post: {
      ...withMessagesKey,
      summary: 'Create a message (Anthropic’s Messages API)',
      parameters: [...headers, idempotencyKey],
      requestBody: {
        required: true,
        content: content(
          requestSchema({ max_tokens: { type: 'integer', minimum: 1 }, stream: { type: 'boolean' } }, [
            'model',
            'messages',
            'max_tokens',
          ]),
        ),
      },
      responses: {
        200: {
          description:
            'The message, with its cost in `x-sluice-cost`. With `stream: true`, it is sent as named server-sent events up to `message_stop`; after an error, `error` is the last event instead.',
          headers: {
            'request-id': { schema: text },
            'x-sluice-cost': { schema: amount, description: 'Only in non-streaming responses.' },
          },
          content: { ...content(messageResponse), ...content(text, 'text/event-stream') },
        },
        ...errorResponses(error, 400, 401, 402, 403, 404, 409, 413, 422, 429, 500, 503),
      },
    },
  },
  '/v1/messages/count_tokens': {
    post: {
      ...withMessagesKey,
      summary: 'Count the tokens of a request, free of charge',
      parameters: headers,
      requestBody: { required: true, content: content(requestSchema({}, ['model', 'messages'])) },
      responses: {
        200: jsonResponse('The count, with `sluice.source: "estimate"` if no provider counted the tokens.', {
          ...object({ input_tokens: count, sluice: object({ source: { const: 'estimate' } }) }, [
            'input_tokens',
          ]),
        }),
        ...errorResponses(error, 400, 401, 402, 403, 404, 413, 429, 500, 503),
      },
    },
  },
}
