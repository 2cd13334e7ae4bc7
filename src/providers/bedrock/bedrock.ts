/**
 * Amazon Bedrock's Converse API: `POST {base}/model/{model}/converse`, streaming as `/converse-stream`; the base URL is
 * that of a region, `https://bedrock-runtime.us-east-1.amazonaws.com`. The credential is an access key, as
 * `AKIA…:secret` (followed by `:session token` for a temporary one) or as JSON with `access_key_id`,
 * `secret_access_key`, `session_token` and `region`; or a Bedrock API key, which is sent as a bearer token. See
 * bedrock-request.ts and bedrock-response.ts.
 */
import { withAddedMembers } from '../added-fields.ts'
import { AwsEventStreamParser } from './aws-event-stream.ts'
import { signAwsRequest, type AwsAccessKey } from './aws-signature.ts'
import { bedrockEmbeddings } from './bedrock-embeddings.ts'
import { bedrockTranslation } from './bedrock-response.ts'
import { buildBedrockBody } from './bedrock-request.ts'

import { parseChatRequest, requireSingleResult } from '../chat-request.ts'
import { getString, parseCredentialJson, type Json } from '../json-fields.ts'
import { bedrockNames } from '../provider-names.ts'
import type { UpstreamCall, FailureResponse, OutgoingRequest, Provider } from '../provider.ts'

type BedrockCredential =
  | { readonly bearer: string }
  | { readonly key: AwsAccessKey; readonly region: string | undefined }

function parseCredential(text: string): BedrockCredential {
  if (text.startsWith('{')) {
    const json = parseCredentialJson(text)
    const accessKeyId = getString(json, 'access_key_id')
    const secretAccessKey = getString(json, 'secret_access_key')
    if (accessKeyId === undefined || secretAccessKey === undefined) {
      throw new Error('The credential must have `access_key_id` and `secret_access_key`.')
    }
    const sessionToken = getString(json, 'session_token')
    return { key: { accessKeyId, secretAccessKey, sessionToken }, region: getString(json, 'region') }
  }
  const [, accessKeyId, secretAccessKey, sessionToken] =
    /^(A[A-Z0-9]{15,}):([^:]+)(?::(.+))?$/.exec(text) ?? []
  if (accessKeyId === undefined || secretAccessKey === undefined) return { bearer: text }
  return { key: { accessKeyId, secretAccessKey, sessionToken }, region: undefined }
}

function regionFor(url: URL, configured: string | undefined): string {
  return configured ?? /^bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\./.exec(url.hostname)?.[1] ?? 'us-east-1'
}

function authHeaders(
  call: UpstreamCall,
  url: URL,
  sent: Pick<OutgoingRequest, 'headers' | 'body'>,
): [string, string][] {
  const credential = parseCredential(call.credential)
  if ('bearer' in credential) return [['authorization', `Bearer ${credential.bearer}`]]
  const region = regionFor(url, credential.region)
  return signAwsRequest(
    { url, ...sent },
    { key: credential.key, region, service: 'bedrock', nowMs: call.nowMs },
  )
}

function signedRequest(call: UpstreamCall, method: string, accept: string, json: Json): OutgoingRequest {
  const url = `${call.baseUrl}/model/${encodeURIComponent(call.model)}/${method}`
  const headers: [string, string][] = [
    ['content-type', 'application/json'],
    ['accept', accept],
  ]
  // Before the body is signed.
  const body = withAddedMembers([Buffer.from(JSON.stringify(json))], call.added)
  const auth = authHeaders(call, new URL(url), { headers, body })
  return { url, headers: [...headers, ...auth, ['user-agent', 'sluice']], body }
}

/** An exceeded quota is reported with status 400. */
function effectiveStatus({ status, errorType }: FailureResponse): number {
  return errorType?.startsWith('ServiceQuotaExceededException') ? 429 : status
}

export const bedrock: Provider = {
  name: 'bedrock',
  title: 'Amazon Bedrock',
  baseUrl: 'https://bedrock-runtime.us-east-1.amazonaws.com',
  buildRequest(call: UpstreamCall): OutgoingRequest {
    const { model, modelMaximumTokens } = call
    const { stream } = call.body
    const request = parseChatRequest(call, bedrockNames)
    requireSingleResult(request)
    const body = buildBedrockBody(request, { model, modelMaximumTokens })
    return stream
      ? signedRequest(call, 'converse-stream', 'application/vnd.amazon.eventstream', body)
      : signedRequest(call, 'converse', 'application/json', body)
  },
  translation: {
    ...bedrockTranslation,
    createFraming: (onEvent, maxEventBytes) => new AwsEventStreamParser(onEvent, maxEventBytes),
  },
  effectiveStatus,
  forModel: (model) => embedders.get(model) ?? embedderOf(model),
}

/** One provider for each model that makes embeddings; operators name the models in their routes. */
const embedders = new Map<string, Provider>()

function embedderOf(model: string): Provider | undefined {
  const embeddings = bedrockEmbeddings(model, (call, body) =>
    signedRequest(call, 'invoke', 'application/json', body),
  )
  if (!embeddings) return undefined
  const { forModel: _forModel, ...provider } = bedrock
  const embedder = { ...provider, embeddings }
  embedders.set(model, embedder)
  return embedder
}
