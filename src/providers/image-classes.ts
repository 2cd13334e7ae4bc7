/**
 * Prices of the image tool by quality and size. In `perToolCall` of a price, and in the calls of a usage, a class is a name
 * of its own, such as `image_generation?quality=high&size=1024x1024`: whatever adds up prices and calls by name needs to
 * know nothing about classes. The first class that matches applies, in the order of the names.
 */
import { getString, type Json } from './json-fields.ts'
import type { UnitPrices } from './price-units.ts'

export const imageTool = 'image_generation'

/** Of a class: what it is for. Of a call: what was asked for or delivered. Absent: any, or not known. */
export interface ImageClass {
  readonly quality?: string
  readonly size?: string
}

export const classFields = ['quality', 'size'] as const

/** The name of a tool's calls of a class; of a class without fields, that of the tool. */
export function classedName(tool: string, { quality, size }: ImageClass): string {
  const fields = new URLSearchParams({
    ...(quality === undefined ? {} : { quality }),
    ...(size === undefined ? {} : { size }),
  })
  return fields.size === 0 ? tool : `${tool}?${fields.toString()}`
}

/** The reverse of `classedName`. */
export function parseClassedName(name: string): ImageClass & { readonly tool: string } {
  const [tool = '', query = ''] = name.split('?', 2)
  const fields = new URLSearchParams(query)
  const [quality, size] = [fields.get('quality'), fields.get('size')]
  return { tool, ...(quality === null ? {} : { quality }), ...(size === null ? {} : { size }) }
}

const toolOf = (name: string): string => parseClassedName(name).tool

/** How many calls each tool has had, over all classes. */
export function callsByTool(calls: Readonly<Record<string, number>>): Record<string, number> {
  const counts = new Map<string, number>()
  for (const [name, count] of Object.entries(calls))
    counts.set(toolOf(name), (counts.get(toolOf(name)) ?? 0) + count)
  return Object.fromEntries(counts)
}

/** A longer text is no class of any price. */
const maxLength = 32

/** The quality and the size that a tool or a call states; `auto` states none. */
export function readImageClass(json: Json): ImageClass {
  const stated = classFields.flatMap((field) => {
    const value = getString(json, field)
    return value === undefined || value === '' || value === 'auto' ? [] : [[field, value.slice(0, maxLength)]]
  })
  return Object.fromEntries(stated) as ImageClass
}

interface PricedClass extends ImageClass {
  readonly name: string
  readonly fee: bigint
}

function classesIn({ perToolCall = {} }: Pick<UnitPrices, 'perToolCall'>): PricedClass[] {
  return Object.entries(perToolCall).flatMap(([name, fee]) => {
    const { tool, ...fields } = parseClassedName(name)
    return tool === imageTool ? [{ name, fee, ...fields }] : []
  })
}

/** The names of the classes of images, in their order. */
export function imageClassNames(price: Pick<UnitPrices, 'perToolCall'>): string[] {
  return classesIn(price).map(({ name }) => name)
}

/** The name of the class of an image; `undefined`: none matches. */
export function findImageClass(
  price: Pick<UnitPrices, 'perToolCall'>,
  image: ImageClass,
): string | undefined {
  return classesIn(price).find((each) => matches(each, image))?.name
}

function matches(priced: ImageClass, image: ImageClass): boolean {
  return classFields.every((field) => priced[field] === undefined || priced[field] === image[field])
}

/** Those that a call may turn out to have, if what it leaves open may be anything. */
function possibleClasses(classes: readonly PricedClass[], asked: ImageClass): PricedClass[] {
  const possible = classes.filter((each) =>
    classFields.every(
      (field) => [undefined, each[field]].includes(asked[field]) || each[field] === undefined,
    ),
  )
  // None is reached after one that matches in any case.
  const certain = possible.findIndex((each) => matches(each, asked))
  return certain === -1 ? possible : possible.slice(0, certain + 1)
}

/** The dearest class that calls of one of these tools may have; of all, if none is possible. `undefined`: there are none. */
export function dearestImageClass(
  price: Pick<UnitPrices, 'perToolCall'>,
  asked: readonly ImageClass[],
): string | undefined {
  const classes = classesIn(price)
  const possible = asked.flatMap((each) => possibleClasses(classes, each))
  const [first, ...others] = possible.length > 0 ? possible : classes
  if (!first) return undefined
  return others.reduce((dearest, each) => (each.fee > dearest.fee ? each : dearest), first).name
}

/** Tokens of one image of the square size (OpenAI, "Image generation", gpt-image-1); what is not known counts as high. */
const squareTokens: Readonly<Record<string, number>> = { low: 272, medium: 1056, high: 4160 }
const squarePixels = 1024 ** 2
/** The largest size of gpt-image-1, as `auto` may choose it. */
const largestSize = '1536x1024'

/** The output tokens that an image may have: no proven bound, since newer models count by other rules. */
export function estimateImageTokens({ quality = 'high', size = largestSize }: ImageClass): number {
  const square = Object.hasOwn(squareTokens, quality) ? squareTokens[quality] : undefined
  const [width = 0, height = 0] = /^\d{1,5}x\d{1,5}$/.test(size) ? size.split('x').map(Number) : [1536, 1024]
  return Math.ceil((square ?? 4160) * Math.max(1, (width * height) / squarePixels))
}
