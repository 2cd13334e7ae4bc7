/** The `headers` and the `body` of an upstream, which are added to every request to it: their validation and columns. */
import { invalidField } from '../errors.ts'
import type { Sealer } from '../lib/encryption.ts'
import type { UpstreamsTable } from '../db/schema/schema.ts'
import { isObject, type Json } from '../providers/json-fields.ts'
import type { AddedFields } from '../providers/provider.ts'
import { fieldRules } from '../providers/restricted-fields.ts'

/** null removes all. */
export interface AddedFieldsPatch {
  readonly headers?: Readonly<Record<string, string>> | null
  readonly body?: Json | null
}

type Columns = Pick<UpstreamsTable, 'id' | 'headers' | 'body'>

const maxHeaders = 50
const maxValueLength = 8192
const maxBodyLength = 16_384
const headerName = /^[\w!#$%&'*+.^`|~-]{1,128}$/
const headerValue = /^[\x20-\x7e]*$/

/** Set by the client, hop by hop, or what says who calls and in which format. */
const reservedHeaders = new Set([
  'accept',
  'accept-encoding',
  'api-key',
  'authorization',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-api-key',
  'x-goog-api-key',
])
/** Amazon's are part of the signature. */
const reservedPrefix = /^(?:proxy|x-amz)-/

/** What the relay sets, reads or holds money for. */
const reservedMembers = new Set([
  'background',
  'best_of',
  'conversation',
  'extra_body',
  'max_tool_calls',
  'model',
  'n',
  'previous_response_id',
  'service_tier',
  'store',
  'stream',
  'stream_options',
  'tools',
])
/** By which engines know a maximum of output or the number of results, also in objects of the body. */
const maximums = new Set([
  'candidateCount',
  'maxOutputTokens',
  'maxTokens',
  'max_completion_tokens',
  'max_tokens',
  ...fieldRules.entries().flatMap(([name, { restriction }]) => (restriction === 'maximum' ? [name] : [])),
])

function isReservedMember(name: string): boolean {
  const restriction = fieldRules.get(name)?.restriction
  return (
    reservedMembers.has(name) || maximums.has(name) || restriction === 'state' || restriction === 'search'
  )
}

function checkHeaders(headers: Readonly<Record<string, string>>): void {
  const names = Object.keys(headers).map((name) => name.toLowerCase())
  if (names.length > maxHeaders) throw invalidField('headers', `must have at most ${maxHeaders} entries`)
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase()
    if (!headerName.test(name)) throw invalidField('headers', 'must have valid header names')
    if (reservedHeaders.has(lower) || reservedPrefix.test(lower))
      throw invalidField(`headers.${name}`, 'is set by the relay')
    if (names.filter((each) => each === lower).length > 1)
      throw invalidField(`headers.${name}`, 'is a duplicate')
    if (value.length > maxValueLength)
      throw invalidField(`headers.${name}`, `must have at most ${maxValueLength} characters`)
    if (!headerValue.test(value))
      throw invalidField(
        `headers.${name}`,
        'contains a line break or another invalid character; paste it again',
      )
  }
}

function checkBody(body: Json): void {
  for (const [name, value] of Object.entries(body)) {
    if (isReservedMember(name)) throw invalidField(`body.${name}`, 'is set by the relay')
    const nested = isObject(value) && Object.keys(value).find((each) => maximums.has(each))
    if (nested) throw invalidField(`body.${name}.${nested}`, 'is set by the relay')
  }
  if (JSON.stringify(body).length > maxBodyLength)
    throw invalidField('body', `must have at most ${maxBodyLength} characters as JSON`)
}

const isEmpty = (object: object): boolean => Object.keys(object).length === 0

/** The columns that a patch sets, validated. Throws 400 naming the header or the member. */
export function addedColumns(
  { headers, body }: AddedFieldsPatch,
  id: string,
  sealer: Sealer,
): Partial<Columns> {
  if (headers) checkHeaders(headers)
  if (body) checkBody(body)
  return {
    ...(headers === undefined
      ? {}
      : { headers: headers && !isEmpty(headers) ? sealer.seal(JSON.stringify(headers), id) : null }),
    ...(body === undefined ? {} : { body: body && !isEmpty(body) ? JSON.stringify(body) : null }),
  }
}

/** null: nothing is added. */
export function addedFields({ id, headers, body }: Columns, sealer: Sealer): AddedFields | null {
  if (headers === null && body === null) return null
  const opened = headers === null ? {} : (JSON.parse(sealer.unseal(headers, id)) as Record<string, string>)
  return { headers: Object.entries(opened), body: body === null ? {} : (JSON.parse(body) as Json) }
}
