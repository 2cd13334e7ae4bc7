/**
 * Anthropic's models at Vertex: Anthropic's own format behind Google's address and sign-in,
 * `{address}/publishers/anthropic/models/{model}:rawPredict`, streamed as `:streamRawPredict`. The model stands in the
 * address instead of the body, and the version in the body instead of a header.
 */
import { AnthropicStream, anthropicWhole } from '../anthropic/anthropic-response.ts'
import { anthropicBody } from '../anthropic/anthropic-request.ts'
import { chatRequestOf, refuseSeveralResults } from '../chat-request.ts'
import type { Call, Outgoing, Translation } from '../provider.ts'

const version = 'vertex-2023-10-16'

/** What callers of Anthropic's own address may have switched on and Vertex knows; it refuses a request for any other. */
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

function betasOf({ body: { own } }: Call): [string, string][] {
  const asked = own?.headers.find(([name]) => name === 'anthropic-beta')?.[1] ?? ''
  const betas = asked.split(',').map((beta) => beta.trim())
  const known = betas.filter((beta) => knownBetas.has(beta))
  return known.length === 0 ? [] : [['anthropic-beta', known.join(',')]]
}

function bodyOf(call: Call): Buffer[] {
  const { model, modelMaximumTokens, maximumTokens } = call
  const { stream, own } = call.body
  const added = { anthropic_version: version }
  if (own) return own.spliced({ model: null, maximumTokens, added })
  const request = chatRequestOf(call)
  refuseSeveralResults(request)
  const { model: _inTheAddress, ...body } = anthropicBody(request, { model, modelMaximumTokens, stream })
  return [Buffer.from(JSON.stringify({ ...body, ...added }))]
}

/** `place`: project and location, without a publisher. */
export function askClaude(call: Call, place: string, proof: readonly [string, string]): Outgoing {
  const { model, body } = call
  const method = body.stream ? 'streamRawPredict' : 'rawPredict'
  const name = encodeURIComponent(model).replaceAll('%40', '@')
  return {
    url: `${place}/publishers/anthropic/models/${name}:${method}`,
    headers: [
      ['content-type', 'application/json'],
      ['accept', body.stream ? 'text/event-stream' : 'application/json'],
      ...betasOf(call),
      proof,
      ['user-agent', 'sluice'],
    ],
    body: bodyOf(call),
  }
}

export const claudeTranslation: Translation = {
  whole: anthropicWhole,
  stream: (call) => new AnthropicStream(call),
}
