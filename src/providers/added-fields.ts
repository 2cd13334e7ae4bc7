/** What an operator adds to every request to an upstream: headers, and members of the body. */
import { isObject } from './json-fields.ts'
import type { AddedFields, OutgoingRequest } from './provider.ts'

type Added = AddedFields | null | undefined

/** A list: the caller's names stay, and the operator's come after them. */
const listHeader = 'anthropic-beta'

/** A header that the request has is replaced; a member that it has stays. */
export function withAddedFields(request: OutgoingRequest, added: Added): OutgoingRequest {
  if (!added) return request
  const { url, headers, body } = request
  return { url, headers: withAddedHeaders(headers, added), body: withAddedMembers(body, added) }
}

export function withAddedHeaders(
  headers: OutgoingRequest['headers'],
  added: Added,
): OutgoingRequest['headers'] {
  if (!added) return headers
  const replaced = new Set(added.headers.map(([name]) => name.toLowerCase()))
  replaced.delete(listHeader)
  return [...headers.filter(([name]) => !replaced.has(name)), ...added.headers]
}

/** All bytes of the body stay; the members that it does not have follow them. */
export function withAddedMembers(body: OutgoingRequest['body'], added: Added): OutgoingRequest['body'] {
  const members = Object.entries(added?.body ?? {})
  if (members.length === 0) return body
  const whole = Buffer.concat(body)
  const request: unknown = JSON.parse(whole.toString())
  if (!isObject(request)) return body
  const absent = members.filter(([name]) => !Object.hasOwn(request, name))
  if (absent.length === 0) return body
  const text = JSON.stringify(Object.fromEntries(absent)).slice(1)
  const separator = Object.keys(request).length === 0 ? '' : ','
  return [whole.subarray(0, whole.lastIndexOf('}')), Buffer.from(separator + text)]
}
