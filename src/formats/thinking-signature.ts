/**
 * Thinking of other providers in Anthropic's format. A client of it sends back what it got, signatures included, and
 * does not know who made them; so a signature tells its maker, and goes back to that one alone.
 */
import { isObject } from '../providers/usage.ts'
import type { Json } from '../providers/json-fields.ts'

const mark = 'sluice.'

/** The mark as it stands in a request's bytes. */
export const markInBody = `"${mark}`

/** What a signature of ours says: whose thinking it is and, where there was any, the maker's own proof. */
export interface Carried {
  readonly provider: string
  readonly detail: Json | undefined
}

/** A signature, or redacted data, of a provider's thinking. `detail`: as in `reasoning_details`, without its words. */
export function carried(provider: string, detail?: Json): string {
  return mark + Buffer.from(JSON.stringify({ provider, detail })).toString('base64url')
}

/** What a signature carries; `null` for one that is not ours. */
export function carriedIn(signature: unknown): Carried | null {
  if (typeof signature !== 'string' || !signature.startsWith(mark)) return null
  try {
    const value: unknown = JSON.parse(Buffer.from(signature.slice(mark.length), 'base64url').toString())
    if (!isObject(value) || typeof value['provider'] !== 'string') return null
    const { detail } = value
    return { provider: value['provider'], detail: isObject(detail) ? detail : undefined }
  } catch {
    return null
  }
}

/** Is this a block of thinking that did not come from Anthropic? */
export function isForeignThinking(block: unknown): boolean {
  if (!isObject(block)) return false
  const proof = block['type'] === 'thinking' ? block['signature'] : block['data']
  const isThinking = block['type'] === 'thinking' || block['type'] === 'redacted_thinking'
  return isThinking && typeof proof === 'string' && proof.startsWith(mark)
}

/** A detail with its words in their place again. */
export function detailWith(words: string, detail: Json): Json {
  return detail['type'] === 'reasoning.summary' ? { ...detail, summary: words } : { ...detail, text: words }
}

/** A detail without the words that stand beside it as thinking. */
export function withoutWords({ text: _text, summary: _summary, ...rest }: Json): Json {
  return rest
}
