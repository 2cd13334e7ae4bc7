/** The interface of Anthropic's format, as `/openapi.json` describes it. */
import {
  amount,
  answer,
  content,
  count,
  idempotencyKey,
  object,
  refusals,
  text,
  type Json,
} from './schemas.ts'

const error = object({
  type: { const: 'error' },
  error: object({ type: text, message: text, param: text, code: text }, ['type', 'message', 'code']),
  request_id: text,
})

function refusing(...statuses: number[]): Json {
  return Object.fromEntries(statuses.map((status) => [status, answer(refusals[status] ?? '', error)]))
}

const blocks = { type: ['string', 'array'], items: object({ type: text }) }

const request = {
  model: text,
  messages: { type: 'array', items: object({ role: text, content: blocks }), minItems: 1 },
  system: blocks,
  tools: { type: 'array', items: { type: 'object' } },
  thinking: { type: 'object' },
}

function requestOf(fields: Json, required: readonly string[]): Json {
  return {
    ...object({ ...request, ...fields }, required),
    additionalProperties: true,
    description: 'Further fields of Anthropic’s Messages API are passed on to upstreams that speak it.',
  }
}

const messageAnswer = object({
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

const formatted = { security: [{ messagesKey: [] }, { key: [] }], tags: ['Relay'] }

function header(name: string, description: string): Json {
  return { name, in: 'header', required: false, schema: text, description }
}

const headers = [
  header('anthropic-version', 'Passed on to upstreams of Anthropic’s; 2023-06-01 when absent.'),
  header('anthropic-beta', 'Passed on to upstreams of Anthropic’s, and to no others.'),
]

export const messagesPaths: Json = {
  '/v1/messages': {
    post: {
      ...formatted,
      summary: 'Ask a model, in Anthropic’s format',
      parameters: [...headers, idempotencyKey],
      requestBody: {
        required: true,
        content: content(
          requestOf({ max_tokens: { type: 'integer', minimum: 1 }, stream: { type: 'boolean' } }, [
            'model',
            'messages',
            'max_tokens',
          ]),
        ),
      },
      responses: {
        200: {
          description:
            'The message, with its cost in `x-sluice-cost`; with `stream: true` as named server-sent events, ended by `message_stop`, or by `error` without it.',
          headers: {
            'request-id': { schema: text },
            'x-sluice-cost': { schema: amount, description: 'Of a whole answer.' },
          },
          content: { ...content(messageAnswer), ...content(text, 'text/event-stream') },
        },
        ...refusing(400, 401, 402, 403, 404, 409, 413, 422, 429, 500, 503),
      },
    },
  },
  '/v1/messages/count_tokens': {
    post: {
      ...formatted,
      summary: 'How many tokens a request has, for nothing',
      parameters: headers,
      requestBody: { required: true, content: content(requestOf({}, ['model', 'messages'])) },
      responses: {
        200: answer('The count; with `sluice.source: "estimate"` where no provider counted.', {
          ...object({ input_tokens: count, sluice: object({ source: { const: 'estimate' } }) }, [
            'input_tokens',
          ]),
        }),
        ...refusing(400, 401, 403, 404, 413, 429, 500, 503),
      },
    },
  },
}
