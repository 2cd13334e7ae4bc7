/**
 * Anthropic's format: `POST {base}/messages` with the key as `x-api-key`; the base URL ends with the version,
 * `https://api.anthropic.com/v1`. See anthropic-request.ts and anthropic-response.ts. A caller's request that is
 * already in this format is sent unchanged.
 */
import { anthropicTranslation } from './anthropic-response.ts'
import { buildAnthropicBody } from './anthropic-request.ts'
import { parseModelNames } from '../openai/openai-format.ts'
import { parseChatRequest, requireSingleResult } from '../chat-request.ts'
import { getObject, getString } from '../json-fields.ts'
import type { UpstreamCall, FailureResponse, OutgoingRequest, Provider } from '../provider.ts'
import { isObject } from '../usage.ts'

const version = '2023-06-01'

/**
 * An account out of credit is reported with status 400. The message is matched exactly, so that no caller can cause it.
 */
function effectiveStatus({ status, body }: FailureResponse): number {
  const error = isObject(body) ? getObject(body, 'error') : undefined
  const message = (error && getString(error, 'message')) ?? ''
  return status === 400 && message.startsWith('Your credit balance is too low to access') ? 402 : status
}

function requestHeaders({ body: { stream, native }, credential }: UpstreamCall): OutgoingRequest['headers'] {
  return [
    ['content-type', 'application/json'],
    ['accept', stream ? 'text/event-stream' : 'application/json'],
    ...(native?.headers ?? [['anthropic-version', version]]),
    ['x-api-key', credential],
    ['user-agent', 'sluice'],
  ]
}

export const anthropic: Provider = {
  name: 'anthropic',
  title: 'Anthropic',
  baseUrl: 'https://api.anthropic.com/v1',
  nativeFormat: 'messages',
  buildRequest(call: UpstreamCall): OutgoingRequest {
    const { model, modelMaximumTokens, maximumTokens } = call
    const { stream, native } = call.body
    const url = `${call.baseUrl}/messages`
    if (native) return { url, headers: requestHeaders(call), body: native.encode({ model, maximumTokens }) }
    const request = parseChatRequest(call)
    requireSingleResult(request)
    const body = buildAnthropicBody(request, { model, modelMaximumTokens, stream })
    return { url, headers: requestHeaders(call), body: [Buffer.from(JSON.stringify(body))] }
  },
  buildCountRequest(call: UpstreamCall): OutgoingRequest {
    const body = call.body.native?.encode({ model: call.model, maximumTokens: null }) ?? []
    return { url: `${call.baseUrl}/messages/count_tokens`, headers: requestHeaders(call), body }
  },
  translation: anthropicTranslation,
  buildModelListRequest: ({ baseUrl, credential }) => ({
    url: `${baseUrl}/models?limit=1000`,
    headers: [
      ['accept', 'application/json'],
      ['anthropic-version', version],
      ['x-api-key', credential],
      ['user-agent', 'sluice'],
    ],
    parseNames: parseModelNames,
  }),
  effectiveStatus,
}
