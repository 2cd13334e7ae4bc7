/**
 * Anthropic's format: `POST {base}/messages` with the key as `x-api-key`; the base URL ends with the version,
 * `https://api.anthropic.com/v1`. See anthropic-request.ts and anthropic-response.ts. A caller's request that is
 * already in this format is sent unchanged.
 */
import { anthropicTranslation } from './anthropic-response.ts'
import { buildAnthropicBody } from './anthropic-request.ts'
import { parseModelNames } from '../openai/openai-format.ts'
import { parseChatRequest, requireSingleResult } from '../chat-request.ts'
import { getObject, getString, isObject, omitUndefined, type Json } from '../json-fields.ts'
import { claudeNames } from '../provider-names.ts'
import {
  modelListRequest,
  modelRequest,
  type UpstreamCall,
  type FailureResponse,
  type OutgoingRequest,
  type Provider,
} from '../provider.ts'

/**
 * An account out of credit is reported with status 400. The message is matched exactly, so that no caller can cause it.
 */
function effectiveStatus({ status, body }: FailureResponse): number {
  const error = isObject(body) ? getObject(body, 'error') : undefined
  const message = (error && getString(error, 'message')) ?? ''
  return status === 400 && message.startsWith('Your credit balance is too low to access') ? 402 : status
}

const versionHeader = ['anthropic-version', '2023-06-01'] as const

function requestTo(call: UpstreamCall, path: string, body: Json | readonly Buffer[]): OutgoingRequest {
  const headers = [...(call.body.native?.headers ?? [versionHeader]), ['x-api-key', call.credential]] as const
  return modelRequest(call, `${call.baseUrl}/${path}`, headers, body)
}

/** Of a request in another format: the fields that are counted, which are all that the endpoint takes. */
function buildCountBody(call: UpstreamCall): Json {
  const { model, modelMaximumTokens } = call
  const body = buildAnthropicBody(parseChatRequest(call, claudeNames), {
    model,
    modelMaximumTokens,
    stream: false,
  })
  const { messages, system, tools, tool_choice, thinking } = body
  return omitUndefined({ model, messages, system, tools, tool_choice, thinking })
}

export const anthropic: Provider = {
  name: 'anthropic',
  title: 'Anthropic',
  baseUrl: 'https://api.anthropic.com/v1',
  nativeFormat: 'messages',
  buildRequest(call: UpstreamCall): OutgoingRequest {
    const { model, modelMaximumTokens, maximumTokens } = call
    const { stream, native } = call.body
    if (native) return requestTo(call, 'messages', native.encode({ model, maximumTokens }))
    const request = parseChatRequest(call, claudeNames)
    requireSingleResult(request)
    const body = buildAnthropicBody(request, { model, modelMaximumTokens, stream })
    return requestTo(call, 'messages', body)
  },
  buildCountRequest(call: UpstreamCall): OutgoingRequest {
    const native = call.body.native?.encode({ model: call.model, maximumTokens: null })
    return requestTo(call, 'messages/count_tokens', native ?? buildCountBody(call))
  },
  translation: anthropicTranslation,
  buildModelListRequest: ({ baseUrl, credential }) =>
    modelListRequest({
      url: `${baseUrl}/models?limit=1000`,
      headers: [versionHeader, ['x-api-key', credential]],
      parseNames: parseModelNames,
    }),
  effectiveStatus,
}
