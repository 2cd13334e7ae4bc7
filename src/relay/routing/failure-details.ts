/**
 * What operators see of a failed attempt, in its log line and in the request's attempts: the upstream's message and the
 * id under which the upstream knows the call. Neither may contain a secret or repeat the caller's text.
 */
import { ResponseHeaders } from '../../lib/http-client/response-head.ts'
import { toBoundedText } from '../../lib/valid-text.ts'
import { isObject } from '../../providers/json-fields.ts'
import type { CallerRequest } from '../request/caller-format.ts'
import type { AttemptRecord } from './attempt-record.ts'
import { redactSecrets } from './secrets.ts'
import type { UpstreamError } from './upstream-error.ts'

const maxMessageLength = 300
/** Messages about larger requests are left out: searching them would delay other requests. */
const maxSearchedBytes = 256 * 1024
/** Scripts that say as much in half the characters. */
const denseScript = /[\u2e80-\uffef]/
/** Fields whose values are names that messages may mention. */
const nameFields = new Set(['model', 'role', 'type'])
/** An error code, or the path of a field. */
const identifier = /^[\w.[\]-]{1,64}$/

/**
 * The headers in which providers send a request id: OpenAI, Azure, Alibaba, Groq and others; Anthropic; Amazon Bedrock;
 * Azure's gateway; Mistral; Moonshot; Volcengine; SiliconFlow; MiniMax.
 */
const requestIdHeaders = [
  'x-request-id',
  'request-id',
  'x-amzn-requestid',
  'apim-request-id',
  'mistral-correlation-id',
  'msh-request-id',
  'x-tt-logid',
  'x-siliconcloud-trace-id',
  'trace-id',
]
const requestIdValue = /^[\x21-\x7e]{1,128}$/

/** Adds why an attempt failed, and the upstream's request id, to its record. */
export function addFailureDetails(
  record: AttemptRecord,
  error: UpstreamError,
  request: CallerRequest,
  requestId: string | undefined,
): void {
  const message = failureMessage(error, request)
  if (message !== undefined) record.error = message
  if (requestId !== undefined) record.upstream_request_id = requestId
}

/**
 * The upstream's message, at most 300 characters, or ours if there was no response. If the upstream rejects the request
 * as invalid, its message usually quotes the request, so only its code and the field are returned. `undefined`: there
 * is nothing that may be shown.
 */
export function failureMessage(error: UpstreamError, request: CallerRequest): string | undefined {
  const { kind, status, code, param } = error
  if (kind === 'request' || kind === 'unsupported') {
    const names = [code, param].filter((name) => name !== null && identifier.test(name))
    return names.length === 0 ? undefined : names.join(', ')
  }
  const message = toBoundedText(error.message, maxMessageLength)
  return status === null || !repeatsRequest(message, request) ? message : undefined
}

/**
 * The request id among the headers of an upstream's response; `undefined` if it has none.
 *
 * @param headerSection as of `ResponseHeaders`
 */
export function upstreamRequestId(headerSection: string, secrets: string): string | undefined {
  const headers = new ResponseHeaders(headerSection)
  for (const name of requestIdHeaders) {
    const value = headers.get(name)
    if (value !== null && requestIdValue.test(value)) return redactSecrets(value, secrets)
  }
  return undefined
}

/**
 * Whether a message has a text of the request in it, of at least 8 characters, or 23 consecutive characters of one.
 * Half as many in Chinese, Japanese and Korean.
 */
function repeatsRequest(message: string, request: CallerRequest): boolean {
  if (request.bytes > maxSearchedBytes) return true
  const { model } = request
  const pieceLength = denseScript.test(message) ? 8 : 16
  const stride = pieceLength / 2
  const ownWords = model.length < pieceLength ? message : message.replaceAll(model, ' ')
  const pieces: string[] = []
  for (let at = 0; at + pieceLength <= ownWords.length; at += stride)
    pieces.push(ownWords.slice(at, at + pieceLength))
  return hasText(request.parsed(), (text) =>
    text.length < pieceLength + stride
      ? text.length >= stride && ownWords.includes(text)
      : pieces.some((piece) => text.includes(piece)),
  )
}

function hasText(value: unknown, matches: (text: string) => boolean): boolean {
  if (typeof value === 'string') return matches(value)
  if (Array.isArray(value)) return value.some((item) => hasText(item, matches))
  if (!isObject(value)) return false
  return Object.entries(value).some(([field, item]) => !nameFields.has(field) && hasText(item, matches))
}
