/**
 * The OpenAI format: `POST {base}/chat/completions` with a bearer key. Nothing is translated; the request's bytes are
 * sent with three changes: the model's name, the usage option, and a maximum if necessary.
 */
import { getObject, getString, isObject } from '../json-fields.ts'
import {
  modelListRequest,
  modelRequest,
  type UpstreamCall,
  type FailureResponse,
  type NativeEdits,
  type OutgoingRequest,
  type Provider,
} from '../provider.ts'
import { sentMaximumField } from './maximum-field.ts'
import { buildResponsesBody } from './responses-call.ts'

/** What differs between OpenAI-compatible providers. */
export interface OpenAICompatiblePreset {
  readonly name: string
  readonly title: string
  readonly baseUrl: string | null
  /** The field for the maximum of output tokens; `max_tokens` by default. */
  readonly maximumField?: 'max_tokens' | 'max_completion_tokens'
  /** Returns other providers' signed reasoning in `reasoning_details`, and accepts it back. */
  readonly takesSignedThinking?: boolean
  /** The header with the bare key, instead of a bearer `authorization`. */
  readonly keyHeader?: string
  readonly namesDeployments?: true
  /** The URL for chat completions, instead of `{base}/chat/completions`. */
  chatUrl?(call: UpstreamCall): string
  /** The URL for embeddings, instead of `{base}/embeddings`. */
  embeddingsUrl?(call: UpstreamCall): string
  /** The URL for completions, instead of `{base}/completions`. */
  completionsUrl?(call: UpstreamCall): string
  readonly speaks?: Provider['speaks']
  /** The most inputs of one call for embeddings; OpenAI's by default. */
  readonly maxEmbeddingInputs?: number
  /** The URL for the Responses API, instead of `{base}/responses`. */
  responsesUrl?(baseUrl: string): string
  /** The URL of the list of models, instead of `{base}/models`; `null`: none. */
  modelsUrl?(baseUrl: string): string | null
}

const defaultMaximumField = 'max_tokens'

/** OpenAI's maximum of inputs of one call for embeddings. */
const openAIInputs = 2048

/** Codes for an account out of credit that come with status 429 or 400: OpenAI's, Moonshot's, Zhipu's, Alibaba's. */
const outOfCreditCodes = new Set([
  'insufficient_quota',
  'billing_hard_limit_reached',
  'exceeded_current_quota_error',
  '1113',
  'Arrearage',
])

function effectiveStatus({ status, body }: FailureResponse): number {
  const error = isObject(body) ? (getObject(body, 'error') ?? body) : {}
  const codes = [getString(error, 'code'), getString(error, 'type')]
  const isOutOfCredit = codes.some((code) => code !== undefined && outOfCreditCodes.has(code))
  if (isOutOfCredit && (status === 429 || status === 400)) return 402
  // xAI reports an invalid key with status 400.
  const message = isObject(body) ? getString(body, 'error') : undefined
  return status === 400 && message?.startsWith('Incorrect API key provided') ? 401 : status
}

function encodeBody(preset: OpenAICompatiblePreset, call: UpstreamCall): Buffer[] {
  const { model, body, settings, withoutFields } = call
  const maximumTokens = call.maximumTokens ?? body.callerMaximumTokens ?? null
  const takesSignedThinking = preset.takesSignedThinking ?? false
  const callerField = body.maxOutputField
  const own = settings.maximumField ?? preset.maximumField ?? defaultMaximumField
  const field = sentMaximumField(own, { ...call, callerField })
  if (maximumTokens === null && (callerField === null || callerField === field))
    return body.encode({ model, withoutFields, takesSignedThinking })
  const maximum = { field, tokens: maximumTokens }
  return body.encode({ model, withoutFields, takesSignedThinking, maximum })
}

function requestHeaders(preset: OpenAICompatiblePreset, call: UpstreamCall): [string, string][] {
  return [
    ['content-type', 'application/json'],
    ['accept', call.body.stream ? 'text/event-stream' : 'application/json'],
    ['user-agent', 'sluice'],
    ...authHeaders(preset, call.credential),
  ]
}

function authHeaders({ keyHeader }: OpenAICompatiblePreset, credential: string): [string, string][] {
  if (credential === '') return []
  return keyHeader === undefined ? [['authorization', `Bearer ${credential}`]] : [[keyHeader, credential]]
}

/** Parses a list of models in the OpenAI format: `{data: [{id}]}`, or the bare array of some providers. */
export function parseModelNames(body: unknown): string[] {
  const rows: unknown = isObject(body) ? body['data'] : body
  if (!Array.isArray(rows)) throw new Error('The response has no list of models.')
  return rows.flatMap((row: unknown) => (isObject(row) ? (getString(row, 'id') ?? []) : []))
}

/** A request whose body passes through to another endpoint than chat completions. */
function nativeRequest(
  preset: OpenAICompatiblePreset,
  call: UpstreamCall,
  url: string,
  inputs?: NativeEdits['inputs'],
): OutgoingRequest {
  const { model, maximumTokens, pricedTools, holder, body } = call
  return {
    url,
    headers: [...requestHeaders(preset, call), ...(body.native?.headers ?? [])],
    body: body.native?.encode({ model, maximumTokens, pricedTools, holder, inputs }) ?? [],
  }
}

/** A provider with the OpenAI format. */
export function openAICompatibleProvider(preset: OpenAICompatiblePreset): Provider {
  const maxInputs = preset.maxEmbeddingInputs ?? openAIInputs
  const responsesUrl = (baseUrl: string): string => preset.responsesUrl?.(baseUrl) ?? `${baseUrl}/responses`
  return {
    name: preset.name,
    title: preset.title,
    baseUrl: preset.baseUrl,
    ...(preset.namesDeployments && { namesDeployments: true }),
    ...(preset.speaks && { speaks: preset.speaks }),
    maximumField: preset.maximumField ?? defaultMaximumField,
    buildRequest(call: UpstreamCall): OutgoingRequest {
      return {
        url: preset.chatUrl?.(call) ?? `${call.baseUrl}/chat/completions`,
        headers: requestHeaders(preset, call),
        body: encodeBody(preset, call),
      }
    },
    completions: {
      buildRequest: (call) => ({
        url: preset.completionsUrl?.(call) ?? `${call.baseUrl}/completions`,
        headers: requestHeaders(preset, call),
        body: encodeBody(preset, call),
      }),
    },
    embeddings: {
      maxInputs,
      buildRequest: (call) =>
        nativeRequest(preset, call, preset.embeddingsUrl?.(call) ?? `${call.baseUrl}/embeddings`, {
          from: (call.part ?? 0) * maxInputs,
          to: ((call.part ?? 0) + 1) * maxInputs,
        }),
    },
    buildResponsesRequest(call) {
      const url = responsesUrl(call.baseUrl)
      if (call.body.native) return nativeRequest(preset, call, url + (call.body.native.subpath ?? ''))
      return modelRequest(call, url, authHeaders(preset, call.credential), buildResponsesBody(call))
    },
    buildStoredRequest: ({ baseUrl, credential }, path) => ({
      url: responsesUrl(baseUrl) + path,
      headers: [['accept', 'application/json'], ['user-agent', 'sluice'], ...authHeaders(preset, credential)],
    }),
    buildModelListRequest({ baseUrl, credential }) {
      const url = preset.modelsUrl ? preset.modelsUrl(baseUrl) : `${baseUrl}/models`
      if (url === null) return null
      return modelListRequest({ url, headers: authHeaders(preset, credential), parseNames: parseModelNames })
    },
    effectiveStatus,
  }
}
