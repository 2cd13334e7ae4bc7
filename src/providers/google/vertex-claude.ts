/**
 * Anthropic's models on Vertex AI: Anthropic's format with Google's URL and authentication,
 * `{base}/publishers/anthropic/models/{model}:rawPredict`, streaming as `:streamRawPredict`. The model is in the URL
 * instead of the body, and the version in the body instead of a header.
 */
import { buildAnthropicBody } from '../anthropic/anthropic-request.ts'
import { fitVertexRequest } from '../anthropic/claude-betas.ts'
import { parseChatRequest, requireSingleResult } from '../chat-request.ts'
import type { Json } from '../json-fields.ts'
import { claudeNames } from '../provider-names.ts'
import { modelRequest, type UpstreamCall, type OutgoingRequest } from '../provider.ts'

const version = 'vertex-2023-10-16'

export function isClaude(model: string): boolean {
  return model.startsWith('claude-')
}

const betaHeader = 'anthropic-beta'
/** The format's own headers: the version is in the body. */
type Headers = OutgoingRequest['headers']

function requestedBetas(headers: Headers): string[] {
  const requested = headers.find(([name]) => name === betaHeader)?.[1] ?? ''
  return requested.split(',').map((beta) => beta.trim())
}

function encodeRequest(call: UpstreamCall): { readonly headers: Headers; readonly body: Json | Buffer[] } {
  const { model, modelMaximumTokens, maximumTokens } = call
  const { stream, native } = call.body
  const added = { anthropic_version: version }
  if (native) {
    const { betas, changed, dropped } = fitVertexRequest(call.body.parsed(), requestedBetas(native.headers))
    const extra = { ...changed, ...added }
    return {
      headers: betas.length === 0 ? [] : [[betaHeader, betas.join(',')]],
      body: native.encode({ model: null, maximumTokens, extra, dropped }),
    }
  }
  const request = parseChatRequest(call, claudeNames)
  requireSingleResult(request)
  const { model: _inTheAddress, ...body } = buildAnthropicBody(request, { model, modelMaximumTokens, stream })
  return { headers: [], body: { ...body, ...added } }
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
  const { headers, body: encoded } = encodeRequest(call)
  return modelRequest(call, url, [...headers, authHeader], encoded)
}
