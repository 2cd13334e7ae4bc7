/**
 * Validates requests for Claude on Vertex AI: as Anthropic does, but the model is in the URL, and the version in the body
 * instead of a header (Anthropic, "Claude on Vertex AI"). The texts of these two errors are descriptive.
 */

import { type AnthropicProblem, findAnthropicMessagesProblem } from './strict-anthropic-messages.ts'
import type { Json } from './strict-rules.ts'

const version = 'vertex-2023-10-16'

function rejection(message: string): AnthropicProblem {
  const error = { type: 'invalid_request_error' as const, message }
  return { status: 400, error: { type: 'error', error, request_id: 'req_vrtx_strict' } }
}

/** The error with which Vertex AI would reject the body of a request to `:rawPredict`. `betas`: the header's value. */
export function findVertexClaudeProblem(
  body: Json,
  model: string,
  betas?: unknown,
): AnthropicProblem | undefined {
  const { anthropic_version: given, ...rest } = body
  if (given === undefined) return rejection('anthropic_version: Field required')
  if (given !== version) return rejection(`anthropic_version: Input should be '${version}'`)
  if (rest['model'] !== undefined) return rejection('model: Extra inputs are not permitted')
  const headers = { 'anthropic-version': given, 'anthropic-beta': betas }
  return findAnthropicMessagesProblem({ ...rest, model }, headers)
}
