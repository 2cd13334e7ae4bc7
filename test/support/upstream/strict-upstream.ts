/**
 * Upstreams that reject what the real provider rejects. `strict('openai', script)` validates each request before the
 * script runs: an invalid one gets the provider's own error, and the test fails when the upstream is closed, unless the
 * test expects that error.
 */

import type { Script } from './exchange.ts'
import { respondWithJson } from './scripted-responses.ts'
import { findAnthropicMessagesProblem } from './strict-anthropic-messages.ts'
import { findBedrockConverseProblem } from './strict-bedrock-converse.ts'
import { findCohereChatProblem } from './strict-cohere-chat.ts'
import { findGeminiProblem } from './strict-gemini.ts'
import { findOpenAIChatProblem } from './strict-openai-chat.ts'
import { findOpenAIResponsesProblem } from './strict-openai-responses.ts'
import type { Json } from './strict-rules.ts'
import { findVertexClaudeProblem } from './strict-vertex-claude.ts'

export type StrictFormat =
  | 'openai'
  | 'responses'
  | 'anthropic'
  | 'bedrock'
  | 'cohere'
  | 'gemini'
  | 'vertex-claude'

export interface StrictOptions {
  /** Matches the messages of errors that the test expects. */
  readonly expected?: RegExp
}

interface Rejection {
  readonly status: number
  readonly body: object
  readonly message: string
}

const paths: Readonly<Record<StrictFormat, RegExp>> = {
  openai: /\/chat\/completions$/,
  responses: /\/responses$/,
  anthropic: /\/messages$/,
  bedrock: /\/converse(?:-stream)?$/,
  cohere: /\/chat$/,
  gemini: /:(?:generateContent|streamGenerateContent)$/,
  'vertex-claude': /:(?:rawPredict|streamRawPredict)$/,
}

/** What a request has besides its body, as far as it is known. */
interface RequestFacts {
  readonly headers?: Json | undefined
  /** The model in the URL. */
  readonly model?: string | undefined
}

function findRejection(
  format: StrictFormat,
  body: Json,
  { headers, model = '' }: RequestFacts,
): Rejection | undefined {
  if (format === 'openai' || format === 'responses') {
    const problem = format === 'openai' ? findOpenAIChatProblem(body) : findOpenAIResponsesProblem(body)
    return (
      problem && { status: problem.status, body: { error: problem.error }, message: problem.error.message }
    )
  }
  if (format === 'bedrock' || format === 'cohere') {
    const problem = format === 'bedrock' ? findBedrockConverseProblem(body) : findCohereChatProblem(body)
    return problem && { status: problem.status, body: problem.error, message: problem.error.message }
  }
  if (format === 'gemini') {
    const problem = findGeminiProblem(body)
    return problem && { status: problem.status, body: problem.error, message: problem.error.error.message }
  }
  const problem =
    format === 'anthropic'
      ? findAnthropicMessagesProblem(body, headers)
      : findVertexClaudeProblem(body, model, headers?.['anthropic-beta'])
  return problem && { status: problem.status, body: problem.error, message: problem.error.error.message }
}

/** Throws the error with which the provider would reject this body. `model`: the one in the URL. */
export function assertAccepted(format: StrictFormat, body: Json, model?: string): void {
  const rejection = findRejection(format, body, { model })
  if (rejection) throw new Error(`${format} would reject this request: ${rejection.message}`)
}

/** Validates each request in the format of the provider, then runs the script. Requests to other paths are not validated. */
export function strict(format: StrictFormat, script: Script, { expected }: StrictOptions = {}): Script {
  return async (exchange) => {
    const { path, json, headers, text } = exchange.request
    const isOfFormat = paths[format].test(path.replace(/\?.*/, ''))
    const model = /\/models\/(?<model>[^/:]+):/.exec(path)?.groups?.['model']
    const rejection = isOfFormat ? findRejection(format, json, { headers: { ...headers }, model }) : undefined
    if (!rejection) return script(exchange)
    await respondWithJson(rejection.status, rejection.body)(exchange)
    if (expected?.test(rejection.message)) return
    throw new Error(`${format} would reject this request: ${rejection.message}\n${text}`)
  }
}
