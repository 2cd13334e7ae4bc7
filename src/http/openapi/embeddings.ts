/** The description of embeddings for `/openapi.json`. */
import {
  amount,
  content,
  count,
  errorResponses,
  idempotencyKey,
  jsonResponse,
  object,
  text,
  withApiKey,
  type Json,
} from './schemas.ts'

const tokens = { type: 'array', items: count, maxItems: 8192 }
const request: Json = {
  ...object(
    {
      model: text,
      input: {
        anyOf: [
          text,
          { type: 'array', items: text, maxItems: 2048 },
          tokens,
          { type: 'array', items: tokens, maxItems: 2048 },
        ],
      },
      encoding_format: { enum: ['float', 'base64'], default: 'float' },
      dimensions: { type: 'integer', minimum: 1 },
      user: text,
    },
    ['model', 'input'],
  ),
  additionalProperties: true,
  description: 'Other fields are passed through unchanged, as `input_type` or `task`.',
}
const embedding = object({
  object: { const: 'embedding' },
  index: count,
  embedding: { anyOf: [{ type: 'array', items: { type: 'number' } }, text] },
})
const response = object({
  object: { const: 'list' },
  data: { type: 'array', items: embedding },
  model: text,
  usage: object({ prompt_tokens: count, total_tokens: count }),
})

export function embeddingPaths(error: Json): Json {
  return {
    '/v1/embeddings': {
      post: {
        ...withApiKey,
        summary: 'Create embeddings',
        parameters: [idempotencyKey],
        requestBody: { required: true, content: content(request) },
        responses: {
          200: {
            ...jsonResponse('The embeddings, in the form that was asked for.', response),
            headers: { 'x-sluice-cost': { schema: amount } },
          },
          ...errorResponses(error, 400, 401, 402, 403, 404, 409, 413, 422, 429, 500, 503),
        },
      },
    },
  }
}
