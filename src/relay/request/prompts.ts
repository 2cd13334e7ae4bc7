/** Prompts of completions, and inputs of embeddings: a text, a list of texts, token ids, or a list of lists of them. */
import type { JsonMember } from '../../lib/json/json-scanner.ts'
import { invalidField } from './request-fields.ts'

export interface Prompts {
  /** How many there are. */
  readonly count: number
  readonly texts: readonly string[]
  /** The token ids in all of them. */
  readonly tokens: number
  /** The token ids of each; empty for texts. */
  readonly tokenCounts: readonly number[]
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
  if (typeof value === 'string' && value !== '') return ofTexts([value])
  if (!Array.isArray(value) || value.length === 0) throw invalidField(param, allowed)
  const list: readonly unknown[] = value
  if (list.every((each) => typeof each === 'string' && each !== '')) return ofTexts(list as readonly string[])
  if (isTokenList(list)) return ofTokens([list])
  if (!list.every(isTokenList)) throw invalidField(param, allowed)
  return ofTokens(list)
}

function ofTexts(texts: readonly string[]): Prompts {
  return { count: texts.length, texts, tokens: 0, tokenCounts: [] }
}

function ofTokens(lists: readonly (readonly number[])[]): Prompts {
  const tokenCounts = lists.map(({ length }) => length)
  const tokens = tokenCounts.reduce((sum, count) => sum + count, 0)
  return { count: lists.length, texts: [], tokens, tokenCounts }
}
