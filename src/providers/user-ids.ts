/** Ids of end users, as providers accept them. */
import { createHash } from 'node:crypto'

/** Anthropic's maximum length of `metadata.user_id` ("Messages"). */
const maxUserIdLength = 256
/** OpenAI's maximum length of `user` ("Create chat completion"). */
const maxUserLength = 64
const opaqueId = /^[\w:./+=-]+$/
/** A telephone number, or what Anthropic may take for one. */
const phoneNumber = /^\+?[\d./-]{7,}$/

function hash(id: string): string {
  return createHash('sha256').update(id).digest('hex')
}

/** The id for Anthropic, which rejects e-mail addresses, telephone numbers and long ids: a hash stands for these. */
export function opaqueUserId(id: string): string {
  const isOpaque = id.length <= maxUserIdLength && opaqueId.test(id) && !phoneNumber.test(id)
  return isOpaque ? id : hash(id)
}

/** The id for OpenAI; a hash stands for one that is too long. */
export function boundedUser(id: string): string {
  return id.length <= maxUserLength ? id : hash(id)
}
