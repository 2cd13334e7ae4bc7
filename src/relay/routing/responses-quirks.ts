/**
 * Recognizes errors that concern the choice between OpenAI's two APIs: chat completions reject what only the Responses
 * API serves, and the Responses API rejects what the relay adds to a request that it has translated for it.
 */
import { responsesTranslation } from '../../providers/openai/responses-response.ts'
import { includeField, returnedReasoning, summaryField } from '../../providers/openai/responses-call.ts'
import { findProvider, speaks } from '../../providers/registry.ts'
import type { CallerRequest } from '../request/caller-format.ts'
import type { RejectedField, SentRequest } from './attempt-call.ts'
import type { UpstreamError } from './upstream-error.ts'

/** Among the fields that a model of an upstream rejects: chat completions, altogether or with tools. */
const chatCompletions = 'chat/completions'
const chatWithTools = 'chat/completions with tools'

/** Errors of OpenAI (404, 400) and Azure (400, `OperationNotSupported`). */
const chatRejections: readonly (readonly [message: RegExp, field: string])[] = [
  [/^This model is only supported in v1\/responses/, chatCompletions],
  [/^This is not a chat model and thus not supported in the v1\/chat\/completions/, chatCompletions],
  [/^The chatCompletion operation does not work with the specified model/, chatCompletions],
  [/^Function tools with reasoning_effort are not supported/, chatWithTools],
]
const unverifiedForSummaries = /^Your organization must be verified to generate reasoning summaries/
const withoutEncryption = /^Encrypted content is not supported with this model/

/** Do chat completions reject the request? `rejected`: what the model of the upstream rejects. */
export function rejectsChat(rejected: ReadonlySet<string>, request: Pick<CallerRequest, 'parsed'>): boolean {
  if (rejected.has(chatCompletions)) return true
  return rejected.has(chatWithTools) && Array.isArray(request.parsed()['tools'])
}

/** The API, or the part of a translated request, that the error rejects; `null`: the error is for another reason. */
export function rejectedOfResponses(error: UpstreamError, sent: SentRequest): RejectedField | null {
  if (sent.body.native) return null
  const found =
    sent.provider.translation === responsesTranslation ? rejectedAddition(error) : chatRejection(error, sent)
  return found && !sent.withoutFields?.has(found.field) ? found : null
}

/** The error says that the Responses API is needed; `null`: it does not. */
export function chatRejection(
  error: UpstreamError,
  { provider, settings }: Pick<SentRequest, 'provider' | 'settings'>,
): RejectedField | null {
  // Variants for other APIs than chat are no providers of the registry.
  if (findProvider(provider.name) !== provider || !speaks('responses', provider, settings)) return null
  const rejected = chatRejections.find(([message]) => message.test(error.message))
  if (rejected) return { field: rejected[1], isAlways: true }
  // An upstream may have the Responses API alone.
  const isMissing = error.status === 404 || error.status === 405
  const isStated = settings.speaks !== undefined
  return isMissing && isStated && !/\b(?:model|deployment)\b/i.test(error.message + error.code)
    ? { field: chatCompletions, isAlways: true }
    : null
}

function rejectedAddition({ param, code, message }: UpstreamError): RejectedField | null {
  // It is another organization's, as after a failover: what this caller returned says nothing about others.
  if (code === 'invalid_encrypted_content') return { field: returnedReasoning, isAlways: false }
  if (param === summaryField || unverifiedForSummaries.test(message))
    return { field: summaryField, isAlways: true }
  if (withoutEncryption.test(message)) return { field: includeField, isAlways: true }
  return null
}
