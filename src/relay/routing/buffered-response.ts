/** Reads a buffered response: translates it if the provider has its own API format, or returns an error. */
import { ApiError } from '../../errors.ts'
import { parseBoundedJson } from '../../lib/json/bounded-json.ts'
import { ResponseHeaders } from '../../lib/http-client/response-head.ts'
import { FailedResponseError } from '../../providers/chat-response.ts'
import type { Chunk, Provider, ResponseIdentity } from '../../providers/provider.ts'
import { findFailure } from '../../providers/response-failure.ts'
import { isObject, type Json } from '../../providers/json-fields.ts'
import { renameModel, renameModelIn } from '../streaming/model-renaming.ts'
import { UsageMeter } from '../streaming/usage-meter.ts'
import type { AttemptCall } from './attempt-call.ts'
import { identityIn } from './served-response.ts'
import { secretsOf } from './secrets.ts'
import {
  parseErrorBody,
  upstreamError,
  upstreamErrorFromBody,
  upstreamErrorFromResponse,
  type UpstreamError,
} from './upstream-error.ts'

const byteOrderMark = Buffer.from('\ufeff')
const unexpectedFormat = 'The response of the provider does not have the expected format.'

export interface BufferedResponse {
  readonly kind: 'buffered'
  /** The body for the caller: the upstream's own bytes, or their translation. */
  readonly bytes: Buffer
  readonly meter: UsageMeter
  /** It has neither content nor an end: it is not billed. */
  readonly isEmpty: boolean
  /** What the caller gets instead of a response that is of no use, though it is billed. */
  readonly failure?: ApiError
  /** With the upstream's own name for the model. */
  readonly identity: ResponseIdentity
}

export interface ReceivedResponse {
  readonly status: number
  readonly bytes: Buffer
  /** As of `ResponseHeaders`. */
  readonly headerSection: string
}

/** `json`: the response in the OpenAI format. */
function buffered(
  bytes: Buffer,
  json: unknown,
  { identity, provider }: { readonly identity: ResponseIdentity; readonly provider: Provider },
): BufferedResponse {
  const meter = new UsageMeter(provider.name)
  const { hasContent, hasFinish } = meter.read(json)
  return { kind: 'buffered', bytes, meter, isEmpty: !hasContent && !hasFinish, identity }
}

/** The body of a response, unless the encoding throws an `ApiError`. */
export function encodeBuffered(encode: () => Json): Pick<BufferedResponse, 'bytes' | 'failure'> {
  try {
    return { bytes: Buffer.from(JSON.stringify(encode())) }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return { bytes: Buffer.alloc(0), failure: error }
  }
}

/** Reads the response to a call. */
export function readBufferedResponse(
  { status, bytes, headerSection }: ReceivedResponse,
  call: AttemptCall,
  now: number,
): BufferedResponse | { readonly kind: 'error'; readonly error: UpstreamError } {
  const { provider, body: encoding } = call
  const credential = secretsOf(call)
  if (status !== 200) {
    const headers = new ResponseHeaders(headerSection)
    const retryAfter = headers.get('retry-after')
    const errorType = headers.get('x-amzn-errortype')
    const failure = { status, bytes, retryAfter, errorType }
    return { kind: 'error', error: upstreamErrorFromResponse(failure, { credential, now, provider }) }
  }
  try {
    const body = withoutByteOrderMark(bytes)
    const json = parseBoundedJson(body.toString('utf8'))
    const { translation } = provider
    const failure = failureIn(json, provider)
    if (failure) return { kind: 'error', error: upstreamErrorFromBody(failure, credential) }
    if (translation ? !isObject(json) : !hasResults(json))
      return { kind: 'error', error: upstreamError('garbage', unexpectedFormat, status) }
    const { returnedModel } = call
    const translated = translation?.translateResponse(json, call)
    const identity = translated?.identity ?? identityIn(json) ?? {}
    const original = translated?.response ?? (json as Chunk)
    if (encoding.isPassthrough || (!translation && !encoding.encodeResponse)) {
      const own = encoding.rewrite?.(body, json, call) ?? body
      return buffered(renameModel(own, returnedModel), original, { identity, provider })
    }
    const response = renameModelIn(original, returnedModel)
    const encoded = encodeBuffered(() => encoding.encodeResponse?.(response) ?? response)
    return { ...buffered(encoded.bytes, response, { identity, provider }), ...encoded }
  } catch (error) {
    if (error instanceof FailedResponseError)
      return { kind: 'error', error: upstreamErrorFromBody(error.body, credential) }
    return {
      kind: 'error',
      error: upstreamError('garbage', 'The response of the provider could not be parsed.', status),
    }
  }
}

/** Some servers write one, which JSON must not have (RFC 8259, 8.1). */
function withoutByteOrderMark(bytes: Buffer): Buffer {
  return bytes.indexOf(byteOrderMark) === 0 ? bytes.subarray(byteOrderMark.length) : bytes
}

/** Has it results, each with a message, or a text in completions? */
function hasResults(json: unknown): boolean {
  if (!isObject(json) || !Array.isArray(json['choices'])) return false
  const choices: readonly unknown[] = json['choices']
  return choices.length > 0 && choices.every((choice) => isObject(choice) && isWritten(choice))
}

function isWritten({ message, delta, text }: Json): boolean {
  return isObject(message ?? delta) || typeof text === 'string'
}

/** The failure in a body with status 200; `null`: none. */
function failureIn(json: unknown, { name, translation }: Provider): Json | null {
  if (!isObject(json)) return null
  if (!translation) return findFailure(name, json)
  return parseErrorBody(json) === null ? null : json
}
