/** The description of OpenAI's Responses API for `/openapi.json`. */
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

const nullableCount = { type: ['integer', 'null'] }
const nullableObject = { type: ['object', 'null'] }
const items = { type: 'array', items: object({ type: text }, []) }

const request: Json = {
  ...object(
    {
      model: text,
      input: { type: ['string', 'array'], items: object({ type: text }, []), minItems: 1 },
      instructions: { type: ['string', 'null'] },
      max_output_tokens: { type: ['integer', 'null'], minimum: 16 },
      stream: { type: 'boolean' },
      tools: { type: 'array', items: object({ type: text }) },
      tool_choice: { type: ['string', 'object'] },
      parallel_tool_calls: { type: 'boolean' },
      text: object({ format: { type: 'object' } }, []),
      reasoning: object({ effort: { type: ['string', 'null'] } }, []),
      temperature: { type: 'number' },
      top_p: { type: 'number' },
      metadata: { type: 'object' },
      store: { type: 'boolean' },
      previous_response_id: { type: ['string', 'null'] },
    },
    ['model', 'input'],
  ),
  additionalProperties: true,
  description:
    '`store` is false unless it is true, which only upstreams that speak this API can do. `previous_response_id` names a response that the account has stored. `background: true`, `conversation` and `prompt` return 400.',
}

const usage = object({
  input_tokens: count,
  input_tokens_details: object({ cached_tokens: count, cache_write_tokens: count }),
  output_tokens: count,
  output_tokens_details: object({ reasoning_tokens: count }),
  total_tokens: count,
})

const response = object({
  id: text,
  object: { const: 'response' },
  created_at: count,
  completed_at: nullableCount,
  status: { enum: ['in_progress', 'completed', 'incomplete', 'failed'] },
  error: nullableObject,
  incomplete_details: nullableObject,
  model: text,
  output: items,
  usage: { ...usage, type: ['object', 'null'] },
  max_output_tokens: nullableCount,
  metadata: { type: 'object' },
})

const responseId = { name: 'id', in: 'path', required: true, schema: text }
const compactionRequest: Json = {
  ...object(
    {
      model: text,
      input: { type: ['string', 'array'], items: object({ type: text }, []), minItems: 1 },
      instructions: { type: ['string', 'null'] },
      prompt_cache_key: { type: ['string', 'null'] },
      reasoning: object({ effort: { type: ['string', 'null'] } }, []),
    },
    ['model', 'input'],
  ),
  additionalProperties: true,
}

const compaction = object({
  id: text,
  object: { const: 'response.compaction' },
  created_at: count,
  output: {
    ...items,
    description: 'The user’s messages, and an item of type `compaction`: the beginning of the next `input`.',
  },
  usage: { ...usage, type: ['object', 'null'] },
})

function compactPath(error: Json): Json {
  return {
    post: {
      ...withApiKey,
      summary: 'Compact a conversation into a summary',
      parameters: [idempotencyKey],
      requestBody: { required: true, content: content(compactionRequest) },
      responses: {
        200: {
          description: 'The compacted conversation.',
          headers: {
            'x-request-id': { schema: text },
            'x-sluice-cost': { schema: amount },
            ...replayedHeader,
          },
          content: content(compaction),
        },
        ...errorResponses(error, 400, 401, 402, 403, 404, 409, 413, 429, 500, 503),
        422: jsonResponse(
          'The model wrote no complete summary (`compaction_failed`), or the `Idempotency-Key` was already used with a different request body.',
          error,
        ),
      },
    },
  }
}

/** Requests about stored responses. */
function storedPaths(error: Json): Json {
  const stored = (summary: string, returns: Json): Json => ({
    ...withApiKey,
    summary: `${summary}, free of charge`,
    parameters: [responseId],
    responses: {
      200: jsonResponse('As the provider responds.', returns),
      ...errorResponses(error, 400, 401, 403, 404, 429, 500, 503),
    },
  })
  return {
    '/v1/responses/{id}': {
      get: stored('Get a stored response', response),
      delete: stored(
        'Delete a stored response',
        object({ id: text, object: { const: 'response' }, deleted: { const: true } }),
      ),
    },
    '/v1/responses/{id}/cancel': { post: stored('Cancel a stored response', response) },
    '/v1/responses/{id}/input_items': {
      get: stored('List the input of a stored response', object({ object: { const: 'list' }, data: items })),
    },
  }
}

/** `error`: the schema of errors in OpenAI's format. */
export function responsesPaths(error: Json): Json {
  const requestBody = { required: true, content: content(request) }
  return {
    '/v1/responses': {
      get: {
        ...withApiKey,
        summary: 'Open a WebSocket for many responses (OpenAI’s WebSocket mode)',
        responses: {
          101: {
            description:
              'Text frames of the client are requests: `{"type": "response.create", …}` with the fields of the POST, and optionally `stream_id` and `generate`. Those of the server are the events of a stream, and errors.',
          },
          ...errorResponses(error, 400, 401, 403, 429, 503),
        },
      },
      post: {
        ...withApiKey,
        summary: 'Create a response (OpenAI’s Responses API)',
        parameters: [idempotencyKey],
        requestBody,
        responses: {
          200: {
            description:
              'The response, with its cost in `x-sluice-cost`. With `stream: true`, it is sent as named server-sent events up to `response.completed` or `response.incomplete`, and `data: [DONE]`; after an error, `error` and `response.failed` are the last events instead.',
            headers: {
              'x-request-id': { schema: text },
              'x-sluice-cost': { schema: amount, description: 'Only in non-streaming responses.' },
              ...replayedHeader,
            },
            content: { ...content(response), ...content(text, 'text/event-stream') },
          },
          ...errorResponses(error, 400, 401, 402, 403, 404, 409, 413, 422, 429, 500, 503),
        },
      },
    },
    ...storedPaths(error),
    '/v1/responses/compact': compactPath(error),
    '/v1/responses/input_tokens': {
      post: {
        ...withApiKey,
        summary: 'Count the input tokens of a request, free of charge',
        requestBody,
        responses: {
          200: jsonResponse(
            'The count, with `sluice.source: "estimate"` if no provider counted the tokens.',
            {
              ...object(
                {
                  object: { const: 'response.input_tokens' },
                  input_tokens: count,
                  sluice: object({ source: { const: 'estimate' } }),
                },
                ['object', 'input_tokens'],
              ),
            },
          ),
          ...errorResponses(error, 400, 401, 402, 403, 404, 413, 429, 500, 503),
        },
      },
    },
  }
}
