/** Prices of the calls of tools in the API: an amount for each tool, or for the image tool a list of classes. */
import { invalidField } from '../errors.ts'
import { formatAmount, parseAmount } from '../lib/money.ts'
import {
  classedName,
  classFields,
  imageTool,
  parseClassedName,
  type ImageClass,
} from '../providers/image-classes.ts'
import type { UnitPrices } from '../providers/price-units.ts'

/** The price of images of a quality and size; absent: of any. The first class that matches applies. */
export interface DecimalImageClass {
  readonly quality?: string | null | undefined
  readonly size?: string | null | undefined
  readonly amount: string
}

/** By the tool's name. */
export type DecimalTools = Readonly<Record<string, string | DecimalImageClass[]>>

const maxEntries = 32
const toolPattern = /^[a-z][a-z0-9_]{0,63}$/
const classPattern = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,31}$/

/** Throws 400 if there are too many. */
export function checkEntries(entries: object, param: string): void {
  if (Object.keys(entries).length > maxEntries)
    throw invalidField(param, `must have at most ${maxEntries} entries`)
}

export function parseNonNegativeAmount(text: string, param: string): bigint {
  const nanos = parseAmount(text, param)
  if (nanos >= 0n) return nanos
  throw invalidField(param, 'must not be negative')
}

/** Throws 400 naming the tool or the field of its class below `param`. */
export function parseToolPrices(tools: DecimalTools | null | undefined, param: string): UnitPrices {
  if (!tools || Object.keys(tools).length === 0) return {}
  checkEntries(tools, param)
  const parsed = Object.entries(tools).flatMap(([name, price]) => {
    const path = `${param}.${name}`
    if (!toolPattern.test(name)) throw invalidField(path, 'is not the name of a tool')
    return typeof price === 'string'
      ? [[name, parseNonNegativeAmount(price, path)] as const]
      : parseClasses(name, price, path)
  })
  return { perToolCall: Object.fromEntries(parsed) }
}

function parseClasses(
  tool: string,
  classes: readonly DecimalImageClass[],
  path: string,
): (readonly [name: string, nanos: bigint])[] {
  if (tool !== imageTool) throw invalidField(path, `must be an amount: only ${imageTool} has classes`)
  if (classes.length === 0) throw invalidField(path, 'must not be empty')
  checkEntries(classes, path)
  const names = new Set<string>()
  return classes.map((each, index) => {
    const param = `${path}[${index}]`
    const name = classedName(tool, parseClass(each, param))
    if (names.has(name)) throw invalidField(param, 'repeats an earlier class')
    names.add(name)
    return [name, parseNonNegativeAmount(each.amount, `${param}.amount`)]
  })
}

function parseClass(fields: DecimalImageClass, param: string): ImageClass {
  const given = classFields.flatMap((field) => {
    const value = fields[field] ?? undefined
    if (value === undefined) return []
    if (value === 'auto') throw invalidField(`${param}.${field}`, 'must not be auto: leave it out')
    if (!classPattern.test(value))
      throw invalidField(`${param}.${field}`, 'must be at most 32 letters, digits and . _ : -')
    return [[field, value]]
  })
  return Object.fromEntries(given) as ImageClass
}

/** The form in which the API accepts it. */
export function toDecimalTools(prices: NonNullable<UnitPrices['perToolCall']>): DecimalTools {
  const classes = new Map<string, (ImageClass & { readonly amount: string })[]>()
  for (const [name, nanos] of Object.entries(prices)) {
    const { tool, ...fields } = parseClassedName(name)
    classes.set(tool, [...(classes.get(tool) ?? []), { ...fields, amount: formatAmount(nanos) }])
  }
  const tools = Array.from(classes, ([tool, list]): [string, DecimalTools[string]] => {
    const [first] = list
    const isPlain = list.length === 1 && first && classFields.every((field) => first[field] === undefined)
    return [tool, isPlain ? first.amount : list]
  })
  return Object.fromEntries(tools)
}
