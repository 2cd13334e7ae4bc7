/**
 * Names of tool calls across providers. Anthropic takes letters, digits, `_` and `-`; others make names with dots and
 * colons, and want them back; Mistral takes nine letters and digits.
 */
import { createHash } from 'node:crypto'

const regular = /^[a-zA-Z0-9_-]+$/
const mark = 'sluice_'
const ofMistral = /^[a-zA-Z0-9]{9}$/

/** A name that every client of Anthropic's format may send back anywhere. */
export function callIdOf(id: string): string {
  return regular.test(id) ? id : mark + Buffer.from(id).toString('base64url')
}

/** The name as its maker has it. */
export function originalCallId(id: string): string {
  return id.startsWith(mark) ? Buffer.from(id.slice(mark.length), 'base64url').toString() : id
}

/** The same name whenever it is asked for, in nine letters and digits. */
export function shortCallId(id: string): string {
  if (ofMistral.test(id)) return id
  return createHash('sha256').update(id).digest('hex').slice(0, 9)
}
