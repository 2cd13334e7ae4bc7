/**
 * Anthropic's models on Vertex AI: Anthropic's format with Google's URL and authentication,
 * `{base}/publishers/anthropic/models/{model}:rawPredict`, streaming as `:streamRawPredict`. The model is in the URL
 * instead of the body, and the version in the body instead of a header.
 */
import { buildAnthropicBody } from '../anthropic/anthropic-request.ts'
import { parseChatRequest, requireSingleResult } from '../chat-request.ts'
import type { Json } from '../json-fields.ts'
import { modelRequest, type UpstreamCall, type OutgoingRequest } from '../provider.ts'

const version = 'vertex-2023-10-16'

/** The beta features that Vertex supports. It rejects requests with any other. */
const knownBetas = new Set([
  'computer-use-2025-01-24',
  'computer-use-2025-11-24',
  'context-1m-2025-08-07',
  'context-management-2025-06-27',
  'effort-2025-11-24',
  'interleaved-thinking-2025-05-14',
  'output-128k-2025-02-19',
  'token-efficient-tools-2025-02-19',
  'tool-examples-2025-10-29',
  'tool-search-tool-2025-10-19',
  'web-search-2025-03-05',
])

export function isClaude(model: string): boolean {
  return model.startsWith('claude-')
}

function supportedBetas({ body: { native } }: UpstreamCall): [string, string][] {
  const requested = native?.headers.find(([name]) => name === 'anthropic-beta')?.[1] ?? ''
  const betas = requested.split(',').map((beta) => beta.trim())
  const known = betas.filter((beta) => knownBetas.has(beta))
  return known.length === 0 ? [] : [['anthropic-beta', known.join(',')]]
}

function encodeBody(call: UpstreamCall): Json | Buffer[] {
  const { model, modelMaximumTokens, maximumTokens } = call
  const { stream, native } = call.body
  const added = { anthropic_version: version }
  if (native) return native.encode({ model: null, maximumTokens, extra: added })
  const request = parseChatRequest(call)
  requireSingleResult(request)
  const { model: _inTheAddress, ...body } = buildAnthropicBody(request, { model, modelMaximumTokens, stream })
  return { ...body, ...added }
}

/** `projectUrl`: with project and location, without a publisher. */
export function buildClaudeRequest(
  call: UpstreamCall,
  projectUrl: string,
  authHeader: readonly [string, string],
): OutgoingRequest {
  const { model, body } = call
  const method = body.stream ? 'streamRawPredict' : 'rawPredict'
  const name = encodeURIComponent(model).replaceAll('%40', '@')
  const url = `${projectUrl}/publishers/anthropic/models/${name}:${method}`
  return modelRequest(call, url, [...supportedBetas(call), authHeader], encodeBody(call))
}
