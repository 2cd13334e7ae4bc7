/** The endpoints of operations (catalog/operations.ts) and what belongs to them, by their path without `/v1`. */
import { factsOf, type RequestOperation } from '../catalog/operations.ts'
import { messages, messageTokens } from './anthropic/messages.ts'
import type { HttpRequestContext } from './incoming-request.ts'
import { chatCompletions, completions, embeddings, type ChatDeps } from './openai/chat-completions.ts'
import { compactResponse, responses, responseTokens } from './openai/responses.ts'

/** Throws an `ApiError` if nothing has been sent. */
export type EndpointHandler = (deps: ChatDeps, context: HttpRequestContext) => Promise<void>

const handlers: Readonly<Record<RequestOperation, EndpointHandler>> = {
  chat: chatCompletions,
  messages,
  responses,
  completions,
  embeddings,
}

const pathOf = (operation: RequestOperation): string => factsOf(operation).path.slice('/v1'.length)

/** Those that hold money and call a model. */
const calls: readonly (readonly [string, EndpointHandler])[] = [
  ...Object.entries(handlers).map(([name, handler]) => [pathOf(name as RequestOperation), handler] as const),
  [`${pathOf('responses')}/compact`, compactResponse],
]

export const operationEndpoints: ReadonlyMap<string, EndpointHandler> = new Map([
  ...calls,
  [`${pathOf('messages')}/count_tokens`, messageTokens],
  [`${pathOf('responses')}/input_tokens`, responseTokens],
])

const callPaths: ReadonlySet<string> = new Set(calls.map(([path]) => path))

/** Whether requests to the path have rows, also if they are rejected. */
export function isCallPath(path: string): boolean {
  return callPaths.has(path)
}
