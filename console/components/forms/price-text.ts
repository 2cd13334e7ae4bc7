/**
 * Prices that are lists, as one line of text per entry: `flex 0.5`, `200000 input 0.02 output 0.04`, or
 * `image_generation quality=high size=1024x1024 0.2`.
 */
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

type ToolPrices = NonNullable<Prices['per_tool_call']>
type ImageClass = Exclude<ToolPrices[string], string>[number]

interface ToolPrice {
  readonly label: string
  readonly amount: string
}

/** An amount for each tool, and for each class of the image tool. */
export function amountsOfTools(tools: Prices['per_tool_call']): ToolPrice[] {
  return Object.entries(tools ?? {}).flatMap(([tool, price]) =>
    typeof price === 'string'
      ? { label: tool, amount: price }
      : price.map(({ amount, ...fields }) => ({ label: toolLabel({ tool, ...fields }), amount })),
  )
}

export function textOfTools(tools: Prices['per_tool_call']): string {
  return amountsOfTools(tools)
    .map(({ label, amount }) => `${label} ${amount}`)
    .join('\n')
}

/** `image_generation quality=high size=1024x1024` */
export function toolLabel({
  tool,
  quality,
  size,
}: { readonly tool: string } & Pick<ImageClass, 'quality' | 'size'>): string {
  const fields = Object.entries({ quality, size }).flatMap(([name, value]) =>
    value ? `${name}=${value}` : [],
  )
  return [tool, ...fields].join(' ')
}

const toolLine = /^([a-z][a-z0-9_]*)(?:\s+quality=(\S+))?(?:\s+size=(\S+))?\s+(\S+)$/

/** Several lines of a tool, or one with a quality or size, are a list. Null: the text is not valid. */
export function toolsFrom(text: string): ToolPrices | null {
  const tools = new Map<string, ImageClass[]>()
  for (const line of linesOf(text)) {
    const [, tool, quality, size, amount = ''] = toolLine.exec(line) ?? []
    if (tool === undefined || !isDecimal(amount)) return null
    const entry = { ...(quality ? { quality } : {}), ...(size ? { size } : {}), amount }
    tools.set(tool, [...(tools.get(tool) ?? []), entry])
  }
  return Object.fromEntries(
    Array.from(tools, ([tool, entries]) => {
      const [first] = entries
      const isPlain = entries.length === 1 && first && !first.quality && !first.size
      return [tool, isPlain ? first.amount : entries]
    }),
  )
}
