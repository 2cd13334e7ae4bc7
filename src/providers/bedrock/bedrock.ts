/**
 * Amazon Bedrock's Converse API: `POST {base}/model/{model}/converse`, streamed as `/converse-stream`; the address is
 * a region's, `https://bedrock-runtime.us-east-1.amazonaws.com`. The credential is an access key, as
 * `AKIA…:secret` (`:session token` after it for a temporary one) or as JSON with `access_key_id`, `secret_access_key`,
 * `session_token` and `region`; or a Bedrock API key, which is sent as a bearer's. The request is in
 * bedrock-request.ts, the answer in bedrock-answer.ts.
 */
import { AwsEventStream } from './aws-event-stream.ts'
import { awsHeaders, type AwsKey } from './aws-signature.ts'
import { BedrockStream, bedrockWhole } from './bedrock-response.ts'
import { bedrockBody } from './bedrock-request.ts'
import { credentialObject } from '../credential.ts'
import { chatRequestOf, refuseSeveralResults } from '../chat-request.ts'
import { textIn } from '../json-fields.ts'
import type { Call, Failure, Outgoing, Provider } from '../provider.ts'

type Credential = { readonly bearer: string } | { readonly key: AwsKey; readonly region: string | undefined }

function credentialOf(text: string): Credential {
  if (text.startsWith('{')) {
    const json = credentialObject(text)
    const accessKeyId = textIn(json, 'access_key_id')
    const secretAccessKey = textIn(json, 'secret_access_key')
    if (accessKeyId === undefined || secretAccessKey === undefined) {
      throw new Error('The credential has to have access_key_id and secret_access_key.')
    }
    const sessionToken = textIn(json, 'session_token')
    return { key: { accessKeyId, secretAccessKey, sessionToken }, region: textIn(json, 'region') }
  }
  const [, accessKeyId, secretAccessKey, sessionToken] =
    /^(A[A-Z0-9]{15,}):([^:]+)(?::(.+))?$/.exec(text) ?? []
  if (accessKeyId === undefined || secretAccessKey === undefined) return { bearer: text }
  return { key: { accessKeyId, secretAccessKey, sessionToken }, region: undefined }
}

function regionOf(url: URL, told: string | undefined): string {
  return told ?? /^bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\./.exec(url.hostname)?.[1] ?? 'us-east-1'
}

function proofOf(call: Call, url: URL, sent: Pick<Outgoing, 'headers' | 'body'>): [string, string][] {
  const credential = credentialOf(call.credential)
  if ('bearer' in credential) return [['authorization', `Bearer ${credential.bearer}`]]
  const region = regionOf(url, credential.region)
  return awsHeaders({ url, ...sent }, { key: credential.key, region, service: 'bedrock', nowMs: call.nowMs })
}

/** A reached quota is told as a bad request. */
function statusOf({ status, errorType }: Failure): number {
  return errorType?.startsWith('ServiceQuotaExceededException') ? 429 : status
}

export const bedrock: Provider = {
  name: 'bedrock',
  title: 'Amazon Bedrock',
  baseUrl: 'https://bedrock-runtime.us-east-1.amazonaws.com',
  ask(call: Call): Outgoing {
    const { model, modelMaximumTokens } = call
    const { stream } = call.body
    const request = chatRequestOf(call)
    refuseSeveralResults(request)
    const method = stream ? 'converse-stream' : 'converse'
    const url = `${call.baseUrl}/model/${encodeURIComponent(model)}/${method}`
    const headers: [string, string][] = [
      ['content-type', 'application/json'],
      ['accept', stream ? 'application/vnd.amazon.eventstream' : 'application/json'],
    ]
    const body = [Buffer.from(JSON.stringify(bedrockBody(request, { model, modelMaximumTokens })))]
    const proof = proofOf(call, new URL(url), { headers, body })
    return { url, headers: [...headers, ...proof, ['user-agent', 'sluice']], body }
  },
  translation: {
    whole: bedrockWhole,
    stream: (call) => new BedrockStream(call),
    framing: (onEvent, maxEventBytes) => new AwsEventStream(onEvent, maxEventBytes),
  },
  statusOf,
}
