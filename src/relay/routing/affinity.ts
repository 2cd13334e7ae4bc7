/**
 * Session affinity: identifies the conversation that a request belongs to, so that it can stay with the upstream that
 * has its beginning in a cache. The conversation is what the caller says (`prompt_cache_key`, `user`, or Anthropic's
 * `metadata.user_id`), else its first messages. Rendezvous hashing then picks the route (load-balancing.ts), so that a
 * route that is added or removed moves only its own share of conversations.
 *
 * Content that only one organization can read goes back to the credential that it came from, its holder.
 */
import { createHash } from 'node:crypto'
import type { LiveCredential, LiveUpstream } from '../../catalog/catalog.ts'
import { holderLength } from '../../formats/encrypted-content.ts'
import { isObject } from '../../providers/json-fields.ts'
import type { CallerRequest } from '../request/caller-format.ts'
import { hashText } from './load-balancing.ts'

/** A conversation starts with the messages up to the user's first one, and with at most this many. */
const maxMessages = 8

function conversationStart(messages: unknown): string {
  if (typeof messages === 'string') return messages
  if (!Array.isArray(messages)) return ''
  const first = messages.findIndex((message: unknown) => isUserMessage(message))
  return JSON.stringify(messages.slice(0, Math.min(first + 1 || maxMessages, maxMessages)))
}

function isUserMessage(message: unknown): boolean {
  return typeof message === 'object' && message !== null && 'role' in message && message.role === 'user'
}

const holders = new WeakMap<LiveCredential, string>()

/** Names an upstream's credential for callers, who learn nothing else about it. */
export function holderOf({ id }: Pick<LiveUpstream, 'id'>, credential: LiveCredential): string {
  const known = holders.get(credential)
  if (known !== undefined) return known
  const digest = createHash('sha256').update(`${id}/${credential.id}`).digest('base64url')
  const holder = digest.slice(0, holderLength)
  holders.set(credential, holder)
  return holder
}

/** Identifies the conversation among those of one account. */
export function conversationHash(account: string, request: CallerRequest): number {
  const parsed = request.parsed()
  const { prompt_cache_key: key, user: named, metadata } = parsed
  const user = named ?? (isObject(metadata) ? metadata['user_id'] : undefined)
  if (typeof key === 'string' && key !== '') return hashText(`${account} key ${key}`)
  if (typeof user === 'string' && user !== '') return hashText(`${account} user ${user}`)
  const { system = parsed['instructions'], messages = parsed['input'] } = parsed
  return hashText(`${account} ${JSON.stringify(system)} ${conversationStart(messages)}`)
}
