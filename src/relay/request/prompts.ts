/** Prompts of completions, and inputs of embeddings: a text, a list of texts, token ids, or a list of lists of them. */
import type { JsonMember } from '../../lib/json/json-scanner.ts'
import { invalidField } from './request-fields.ts'

export interface Prompts {
  /** How many there are. */
  readonly count: number
  readonly texts: readonly string[]
  /** The token ids in all of them. */
  readonly tokens: number
}

const allowed = 'a non-empty text, a list of texts, a list of token ids, or a list of lists of token ids'

/** The value of a member of the body. */
export function parseMember(body: Buffer, { start, end }: JsonMember): unknown {
  const value: unknown = JSON.parse(body.toString('utf8', start, end))
  return value
}

function isTokenId(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function isTokenList(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.length > 0 && value.every(isTokenId)
}

/** Throws `invalid_request` naming the field. */
export function countPrompts(value: unknown, param: string): Prompts {
  if (typeof value === 'string' && value !== '') return { count: 1, texts: [value], tokens: 0 }
  if (!Array.isArray(value) || value.length === 0) throw invalidField(param, allowed)
  const list: readonly unknown[] = value
  if (list.every((each) => typeof each === 'string' && each !== ''))
    return { count: list.length, texts: list as readonly string[], tokens: 0 }
  if (isTokenList(list)) return { count: 1, texts: [], tokens: list.length }
  if (!list.every(isTokenList)) throw invalidField(param, allowed)
  return { count: list.length, texts: [], tokens: list.reduce((sum, ids) => sum + ids.length, 0) }
}
