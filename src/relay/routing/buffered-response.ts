/** Reads a buffered response: translates it if the provider has its own API format, or returns an error. */
import { ApiError } from '../../errors.ts'
import { parseBoundedJson } from '../../lib/json/bounded-json.ts'
import { ResponseHeaders } from '../../lib/http-client/response-head.ts'
import type { Chunk, ResponseIdentity } from '../../providers/provider.ts'
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
function buffered(bytes: Buffer, json: unknown, identity: ResponseIdentity): BufferedResponse {
  const meter = new UsageMeter()
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
    const json = parseBoundedJson(bytes.toString('utf8'))
    const { translation } = provider
    const isExpectedFormat = translation ? isObject(json) : hasChoices(json)
    if ((encoding.stream && !encoding.isCollected) || isError(json) || !isExpectedFormat) {
      return { kind: 'error', error: upstreamErrorIn(json, credential) }
    }
    const { returnedModel } = call
    const translated = translation?.translateResponse(json, call)
    const identity = translated?.identity ?? identityIn(json) ?? {}
    const original = translated?.response ?? (json as Chunk)
    if (encoding.isPassthrough || (!translation && !encoding.encodeResponse)) {
      const own = encoding.rewrite?.(bytes, json, call) ?? bytes
      return buffered(renameModel(own, returnedModel), original, identity)
    }
    const response = renameModelIn(original, returnedModel)
    const encoded = encodeBuffered(() => encoding.encodeResponse?.(response) ?? response)
    return { ...buffered(encoded.bytes, response, identity), ...encoded }
  } catch {
    return {
      kind: 'error',
      error: upstreamError('garbage', 'The response of the provider could not be parsed.', status),
    }
  }
}

function hasChoices(json: unknown): boolean {
  return isObject(json) && Array.isArray(json['choices'])
}

function isError(json: unknown): boolean {
  return parseErrorBody(json) !== null && !hasChoices(json)
}

/** The error in a 200 body that is not a valid response: an error object, or unexpected JSON. */
function upstreamErrorIn(json: unknown, credential: string): UpstreamError {
  return parseErrorBody(json) === null
    ? upstreamError('garbage', 'The response of the provider does not have the expected format.', 200)
    : upstreamErrorFromBody(json, credential)
}
