/**
 * Upstreams that reject what the real provider rejects. `strict('openai', script)` validates each request before the
 * script runs: an invalid one gets the provider's own error, and the test fails when the upstream is closed, unless the
 * test expects that error.
 */

import type { Script } from './exchange.ts'
import { respondWithJson } from './scripted-responses.ts'
import { findAnthropicMessagesProblem } from './strict-anthropic-messages.ts'
import { findBedrockConverseProblem } from './strict-bedrock-converse.ts'
import { findOpenAIChatProblem } from './strict-openai-chat.ts'
import type { Json } from './strict-rules.ts'

export type StrictFormat = 'openai' | 'anthropic' | 'bedrock'

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
  anthropic: /\/messages$/,
  bedrock: /\/converse(?:-stream)?$/,
}

function findRejection(format: StrictFormat, body: Json, headers?: Json): Rejection | undefined {
  if (format === 'openai') {
    const problem = findOpenAIChatProblem(body)
    return (
      problem && { status: problem.status, body: { error: problem.error }, message: problem.error.message }
    )
  }
  if (format === 'bedrock') {
    const problem = findBedrockConverseProblem(body)
    return problem && { status: problem.status, body: problem.error, message: problem.error.message }
  }
  const problem = findAnthropicMessagesProblem(body, headers)
  return problem && { status: problem.status, body: problem.error, message: problem.error.error.message }
}

/** Throws the error with which the provider would reject this body. */
export function assertAccepted(format: StrictFormat, body: Json): void {
  const rejection = findRejection(format, body)
  if (rejection) throw new Error(`${format} would reject this request: ${rejection.message}`)
}

/** Validates each request in the format of the provider, then runs the script. Requests to other paths are not validated. */
export function strict(format: StrictFormat, script: Script, { expected }: StrictOptions = {}): Script {
  return async (exchange) => {
    const { path, json, headers, text } = exchange.request
    const isOfFormat = paths[format].test(path.replace(/\?.*/, ''))
    const rejection = isOfFormat ? findRejection(format, json, { ...headers }) : undefined
    if (!rejection) return script(exchange)
    await respondWithJson(rejection.status, rejection.body)(exchange)
    if (expected?.test(rejection.message)) return
    throw new Error(`${format} would reject this request: ${rejection.message}\n${text}`)
  }
}
