/**
 * Which conversation a request belongs to, so that it can stay with the upstream that has its beginning in a cache:
 * what the caller says (`prompt_cache_key`, `user`, Anthropic's `metadata.user_id`), else how the conversation begins. Routes are then ranked by
 * rendezvous: each by a number made of both names, so that a route that goes or comes moves only its own share.
 */
import { isObject } from '../providers/usage.ts'
import type { CallerRequest } from './caller-format.ts'

/** Of the conversation's beginning, the messages up to the first of the user, and not more than this many. */
const mostMessages = 8

/** FNV-1a over UTF-16 units, with a last stirring (murmur3), for names that differ little. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return stirred(hash)
}

function stirred(hash: number): number {
  let mixed = hash ^ (hash >>> 16)
  mixed = Math.imul(mixed, 0x85ebca6b)
  mixed ^= mixed >>> 13
  mixed = Math.imul(mixed, 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}

function beginningOf(messages: unknown): string {
  if (!Array.isArray(messages)) return ''
  const first = messages.findIndex((message: unknown) => isOfUser(message))
  return JSON.stringify(messages.slice(0, Math.min(first + 1 || mostMessages, mostMessages)))
}

function isOfUser(message: unknown): boolean {
  return typeof message === 'object' && message !== null && 'role' in message && message.role === 'user'
}

/** A number for the conversation, among those of one account. */
export function conversationOf(account: string, request: CallerRequest): number {
  const { prompt_cache_key: key, user: named, metadata, system, messages } = request.parsed()
  const user = named ?? (isObject(metadata) ? metadata['user_id'] : undefined)
  if (typeof key === 'string' && key !== '') return hashOf(`${account} key ${key}`)
  if (typeof user === 'string' && user !== '') return hashOf(`${account} user ${user}`)
  return hashOf(`${account} ${JSON.stringify(system)} ${beginningOf(messages)}`)
}

/** How much a conversation prefers one of these weights; the greatest is taken, and each wins as often as it weighs. */
export function rendezvous(conversation: number, hash: number, weight: number): number {
  // From above 0 to below 1.
  const draw = (stirred(conversation ^ hash) + 0.5) / 2 ** 32
  return weight / -Math.log(draw)
}
