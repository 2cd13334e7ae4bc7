/**
 * Upstreams that reject what the real provider rejects. `strict('openai', script)` validates each request before the
 * script runs: an invalid one gets the provider's own error, and the test fails when the upstream is closed, unless the
 * test expects that error.
 */

import type { Exchange, Script } from './exchange.ts'
import { respondWithJson } from './scripted-responses.ts'
import { findAnthropicMessagesProblem } from './strict-anthropic-messages.ts'
import { findOpenAIChatProblem } from './strict-openai-chat.ts'

export type StrictFormat = 'openai' | 'anthropic'

export interface StrictOptions {
  /** Matches the messages of errors that the test expects. */
  readonly expected?: RegExp
}

interface Rejection {
  readonly status: number
  readonly body: object
  readonly message: string
}

function findRejection(format: StrictFormat, { request }: Exchange): Rejection | undefined {
  const path = request.path.replace(/\?.*/, '')
  if (format === 'openai') {
    if (!path.endsWith('/chat/completions')) return undefined
    const problem = findOpenAIChatProblem(request.json)
    return (
      problem && { status: problem.status, body: { error: problem.error }, message: problem.error.message }
    )
  }
  if (!path.endsWith('/messages')) return undefined
  const problem = findAnthropicMessagesProblem(request.json, request.headers)
  return problem && { status: problem.status, body: problem.error, message: problem.error.error.message }
}

/** Validates each request in the format of the provider, then runs the script. Requests to other paths are not validated. */
export function strict(format: StrictFormat, script: Script, { expected }: StrictOptions = {}): Script {
  return async (exchange) => {
    const rejection = findRejection(format, exchange)
    if (!rejection) return script(exchange)
    await respondWithJson(rejection.status, rejection.body)(exchange)
    if (expected?.test(rejection.message)) return
    throw new Error(`${format} would reject this request: ${rejection.message}\n${exchange.request.text}`)
  }
}
