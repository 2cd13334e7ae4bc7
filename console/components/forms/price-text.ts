/** Prices that are lists, as one line of text per entry: `flex 0.5`, or `200000 input 0.02 output 0.04`. */
import type { Model } from '../../api/contract.ts'
import { isDecimal, isInteger } from './field-values.ts'

type Prices = Model['prices']
type Entries = Readonly<Record<string, string>>
type LongInput = NonNullable<Prices['above']>[number]

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** Pairs of a name and a decimal; null: the text has something else. */
function pairsIn(words: readonly string[]): Entries | null {
  const pairs: Record<string, string> = {}
  for (let at = 0; at < words.length; at += 2) {
    const [name = '', value = ''] = words.slice(at, at + 2)
    if (!/^[a-z][a-z0-9_]*$/.test(name) || !isDecimal(value) || name in pairs) return null
    pairs[name] = value
  }
  return pairs
}

const textOfPairs = (entries: object, separator: string): string =>
  Object.entries(entries)
    .filter(([, value]) => typeof value === 'string')
    .map((entry) => entry.join(' '))
    .join(separator)

export const textOfEntries = (entries: Entries | null | undefined): string => textOfPairs(entries ?? {}, '\n')

/** Null: the text is not valid. */
export function entriesFrom(text: string): Entries | null {
  return pairsIn(linesOf(text).flatMap((line) => line.split(/\s+/)))
}

export function textOfAbove(above: Prices['above']): string {
  return (above ?? [])
    .map(({ input_tokens: tokens, ...rates }) => `${tokens} ${textOfPairs(rates, ' ')}`)
    .join('\n')
}

/** Null: the text is not valid. */
export function aboveFrom(text: string): LongInput[] | null {
  const parsed = linesOf(text).map((line) => {
    const [tokens = '', ...words] = line.split(/\s+/)
    const rates = pairsIn(words)
    return isInteger(tokens) && rates ? { input_tokens: Number(tokens), ...rates } : null
  })
  const valid = parsed.filter((entry) => entry !== null)
  return valid.length === parsed.length ? valid : null
}
