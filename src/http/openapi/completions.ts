/** The description of legacy completions for `/openapi.json`. */
import {
  amount,
  content,
  count,
  errorResponses,
  idempotencyKey,
  jsonResponse,
  object,
  replayedHeader,
  text,
  withApiKey,
  type Json,
} from './schemas.ts'

const tokens = { type: 'array', items: count }
const request: Json = {
  ...object(
    {
      model: text,
      prompt: { anyOf: [text, { type: 'array', items: text }, tokens, { type: 'array', items: tokens }] },
      suffix: { type: ['string', 'null'] },
      max_tokens: { type: 'integer', minimum: 0, default: 16 },
      n: { type: 'integer', minimum: 1, maximum: 128 },
      best_of: { type: 'integer', minimum: 1, maximum: 128 },
      echo: { type: ['boolean', 'null'] },
      stream: { type: 'boolean' },
      stream_options: object({ include_usage: { type: 'boolean' } }, []),
    },
    ['model', 'prompt'],
  ),
  additionalProperties: true,
  description: 'Other fields of OpenAI’s API are passed through unchanged.',
}
const choice = object({ index: count, text, finish_reason: { type: ['string', 'null'] } }, ['text'])
const response = object(
  {
    id: text,
    object: { const: 'text_completion' },
    created: count,
    model: text,
    choices: { type: 'array', items: choice },
    usage: object({ prompt_tokens: count, completion_tokens: count, total_tokens: count }),
  },
  ['choices'],
)

export function completionPaths(error: Json): Json {
  return {
    '/v1/completions': {
      post: {
        ...withApiKey,
        summary: 'Create a completion',
        parameters: [idempotencyKey],
        requestBody: { required: true, content: content(request) },
        responses: {
          200: {
            ...jsonResponse('The completion, or its chunks as server-sent events.', response),
            headers: {
              'x-sluice-cost': { schema: amount, description: 'Only in non-streaming responses.' },
              ...replayedHeader,
            },
            content: { ...content(response), ...content(text, 'text/event-stream') },
          },
          ...errorResponses(error, 400, 401, 402, 403, 404, 409, 413, 422, 429, 500, 503),
        },
      },
    },
  }
}
