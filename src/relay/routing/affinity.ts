/**
 * Session affinity: identifies the conversation that a request belongs to, so that it can stay with the upstream that
 * has its beginning in a cache. The conversation is what the caller says (`prompt_cache_key`, `user`, or Anthropic's
 * `metadata.user_id`), else its first messages. Rendezvous hashing then picks the route (load-balancing.ts), so that a
 * route that is added or removed moves only its own share of conversations.
 */
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
