/**
 * What is billed of the image tool of a Responses request: the tokens that the response states, if a price has those of
 * images; else each call by the class of its image. Calls that failed are not among them.
 */
import type { Price, Usage } from '../ledger/price.ts'
import {
  classedName,
  classFields,
  dearestImageClass,
  estimateImageTokens,
  findImageClass,
  imageTool,
  parseClassedName,
  type ImageClass,
} from '../providers/image-classes.ts'
import { createUsage, type ImageToolTokens } from '../providers/usage.ts'
import { pricesImageTokens, type HostedTool } from './request/hosted-tools.ts'

type Calls = NonNullable<Usage['toolCalls']>

/** The images that a response has, whatever they cost. */
export interface MadeImages {
  /** As the response states them, else as the request asks for them. */
  readonly classes: readonly { readonly image: ImageClass; readonly count: number }[]
  /** What the request asks for, by each tool. */
  readonly asked: readonly ImageClass[]
  /** The tokens that the response states. */
  readonly stated: ImageToolTokens | undefined
}

export interface ImageCharge {
  /** By the classes of the price; none, if tokens are charged. */
  readonly calls: Calls
  readonly tokens?: ImageToolTokens
  /** The tokens are not stated. */
  readonly isEstimated?: true
  /** An image that no class of the price matches, as `image_generation?quality=low&size=800x600`. */
  readonly unpricedClass?: string
}

/** `calls`: of all tools. `null`: the request offers no image tool, or the response has no image. */
export function findImages(
  calls: Calls,
  stated: ImageToolTokens | undefined,
  tools: readonly HostedTool[] | undefined,
): MadeImages | null {
  const asked = (tools ?? []).flatMap(({ image }) => (image ? [image] : []))
  const [first] = asked
  if (!first) return null
  const classes = Object.entries(calls).flatMap(([name, count]) => {
    const { tool, ...image } = parseClassedName(name)
    return tool === imageTool && count > 0 ? [{ image: withAsked(image, first), count }] : []
  })
  return classes.length > 0 ? { classes, asked, stated } : null
}

function withAsked(stated: ImageClass, asked: ImageClass): ImageClass {
  const fields = classFields.flatMap((field) => {
    const value = stated[field] ?? asked[field]
    return value === undefined ? [] : [[field, value]]
  })
  return Object.fromEntries(fields) as ImageClass
}

/** What the images are charged at a price. An image of no class costs as much as the dearest that the request could cause. */
export function chargeImages({ classes, asked, stated }: MadeImages, price: Price): ImageCharge {
  const isTokenPriced = pricesImageTokens(price)
  // A statement without output tokens does not show what the images cost.
  if (isTokenPriced && stated && stated.output > 0) return { calls: {}, tokens: stated }
  const dearest = dearestImageClass(price, asked)
  if (dearest === undefined) {
    if (!isTokenPriced) return { calls: {} }
    const output = classes.reduce((sum, { image, count }) => sum + count * estimateImageTokens(image), 0)
    return { calls: {}, tokens: { input: 0, output }, isEstimated: true }
  }
  const calls = new Map<string, number>()
  let unpriced: ImageClass | undefined
  for (const { image, count } of classes) {
    const name = findImageClass(price, image)
    if (name === undefined) unpriced ??= image
    calls.set(name ?? dearest, (calls.get(name ?? dearest) ?? 0) + count)
  }
  return {
    calls: Object.fromEntries(calls),
    ...(unpriced ? { unpricedClass: classedName(imageTool, unpriced) } : {}),
  }
}

/** The most that is charged of stated tokens: of the largest image of a known model (gpt-image-2), with its partial images. */
const maxImageTokens = estimateImageTokens({ size: '3840x2160' }) + 300

/** `maxCalls`: those that the request allows. */
export function boundImageTokens(
  { input, output }: ImageToolTokens,
  { classes }: MadeImages,
  { maxCalls, contextTokens }: { readonly maxCalls: number; readonly contextTokens: number },
): ImageToolTokens {
  const made = classes.reduce((sum, each) => sum + each.count, 0)
  const calls = Math.min(made, maxCalls)
  return { input: Math.min(input, calls * contextTokens), output: Math.min(output, calls * maxImageTokens) }
}

/** The calls without those of the image tool. */
export function withoutImages(calls: Calls): Calls {
  return Object.fromEntries(
    Object.entries(calls).filter(([name]) => parseClassedName(name).tool !== imageTool),
  )
}

/** A usage without images, with what is charged of them in addition. */
export function addImages(usage: Usage, { calls, tokens }: Pick<ImageCharge, 'calls' | 'tokens'>): Usage {
  const { modality, toolCalls } = usage
  const { input, output } = tokens ?? { input: 0, output: 0 }
  return createUsage({
    ...usage,
    input: usage.input + input,
    output: usage.output + output,
    modality: {
      ...modality,
      inputImage: (modality?.inputImage ?? 0) + input,
      outputImage: (modality?.outputImage ?? 0) + output,
    },
    toolCalls: { ...toolCalls, ...calls },
  })
}
