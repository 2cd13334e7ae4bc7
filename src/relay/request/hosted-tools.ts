/** Tools of a Responses request that the provider runs and bills by the call (`per_tool_call` of the prices). */
import { isOptionalSearch } from '../../formats/responses-tools.ts'
import { callCost, type ToolTerms } from '../../ledger/cost-bound.ts'
import type { Price } from '../../ledger/price.ts'
import {
  dearestImageClass,
  estimateImageTokens,
  findImageClass,
  imageClassNames,
  imageTool,
  readImageClass,
  type ImageClass,
} from '../../providers/image-classes.ts'
import { getCount, getString, isObject, type Json } from '../../providers/json-fields.ts'
import type { ImageToolTokens } from '../../providers/usage.ts'
import type { EmbeddedData } from './embedded-data.ts'
import { serviceTierOf, type RestrictedField } from './restricted-fields.ts'

export interface HostedTool {
  /** As `per_tool_call` names it: the type of its items without `_call`. */
  readonly name: string
  readonly type: string
  readonly index: number
  /** The request can do without it: it is left out where it has no price. */
  readonly isOptional: boolean
  /** Of the image tool: what it asks for. */
  readonly image?: ImageRequest
}

/** What an image tool asks for, as far as its price depends on it. */
export interface ImageRequest extends ImageClass {
  /** Images that are sent before the last one of a call. */
  readonly partialImages: number
  readonly hasHighFidelity: boolean
}

/** Of nearly all requests. */
export const noHostedTools: readonly HostedTool[] = []

/** Tools that the caller runs, or that cost nothing but tokens. */
const callerTools =
  /^(?:function|custom|namespace|apply_patch|local_shell|computer.*|tool_search|programmatic_tool_calling)$/

/** Held for a non-streaming response whose request states no maximum of calls. */
const defaultCalls = 10

/** The tools of a request that the provider runs. */
export function findHostedTools(request: Json): readonly HostedTool[] {
  const { tools } = request
  if (!Array.isArray(tools)) return noHostedTools
  return tools.flatMap((tool: unknown, index) => {
    if (!isObject(tool)) return []
    const type = getString(tool, 'type') ?? ''
    if (callerTools.test(type) || isLocalShell(tool)) return []
    const name = toolNameOf(type)
    const image = name === imageTool ? { image: readImageRequest(tool) } : {}
    return [{ name, type, index, isOptional: isOptionalSearch(tool, request), ...image }]
  })
}

const maxPartialImages = 3

function readImageRequest(tool: Json): ImageRequest {
  const partialImages = Math.min(getCount(tool, 'partial_images'), maxPartialImages)
  return {
    ...readImageClass(tool),
    partialImages,
    hasHighFidelity: tool['input_fidelity'] === 'high',
  }
}

/** The type without the date of its version; a search has one price under all its names. */
function toolNameOf(type: string): string {
  return type.startsWith('web_search') ? 'web_search' : type.replace(/(?:_\d{4}_\d{2}_\d{2}|_\d{8})$/, '')
}

/** A shell without a container runs at the caller. */
function isLocalShell(tool: Json): boolean {
  if (tool['type'] !== 'shell') return false
  const { environment } = tool
  return !isObject(environment) || environment['type'] === 'local'
}

/** The tools that the request cannot do without: only routes that take them may serve it. */
export function restrictedTools(tools: readonly HostedTool[]): RestrictedField[] {
  return tools
    .filter(({ isOptional }) => !isOptional)
    .map((tool) => ({
      param: `tools[${tool.index}]`,
      names: [...new Set([tool.type, tool.name, 'tools'])],
      restriction: 'service',
      tool,
    }))
}

interface ToolRequest extends ToolOffer {
  readonly stream: boolean
  readonly embedded: Pick<EmbeddedData, 'images' | 'hasReferences'>
  readonly restricted: readonly RestrictedField[]
  parsed(): Json
}

interface ToolOffer {
  readonly hostedTools?: readonly HostedTool[]
}

type ToolPrices = Pick<Price, 'perToolCall' | 'modality'>

/** Images are priced by their tokens: those of the output decide, as those of the input are priced as text by default. */
export function pricesImageTokens({ modality }: Pick<Price, 'modality'>): boolean {
  return modality?.outputImage !== undefined
}

/** Whether calls of the tool have a price: images by their class, or by their tokens. */
export function pricesTool(
  price: ToolPrices,
  { name, image }: NonNullable<RestrictedField['tool']>,
): boolean {
  if (!image) return Object.hasOwn(price.perToolCall ?? {}, name)
  return pricesImageTokens(price) || findImageClass(price, image) !== undefined
}

/** Whether the images of a request are billed in the same units at both prices, so that one usage has a cost at each. */
export function pricesImagesAlike(left: ToolPrices, right: ToolPrices): boolean {
  const namesOf = (price: ToolPrices): string => imageClassNames(price).join(' ')
  return pricesImageTokens(left) === pricesImageTokens(right) && namesOf(left) === namesOf(right)
}

/** The tools in a request that have a price. */
export function pricedTools({ hostedTools }: ToolOffer, price: ToolPrices): readonly HostedTool[] {
  if (!hostedTools || hostedTools.length === 0) return noHostedTools
  return hostedTools.filter((tool) => pricesTool(price, tool))
}

/** The names of all tools that have a price; `undefined`: none has. */
export function toolsWithPrice({ perToolCall }: Pick<Price, 'perToolCall'>): ReadonlySet<string> | undefined {
  return perToolCall && new Set(Object.keys(perToolCall))
}

export interface ToolCallsToHold extends ToolTerms {
  /** A stream holds one call at first, and the next one as each of them appears. */
  readonly calls: number
  /** The most calls that the request allows; Infinity: it states no maximum. */
  readonly maximum: number
}

/** The dearest of the tools that a request offers; `null`: none of them has a price. */
export function toolCallsToHold(request: ToolRequest, price: Price): ToolCallsToHold | null {
  const [first, ...others] = pricedTools(request, price).map((tool) => termsOf(tool, request, price))
  if (!first) return null
  const tier = serviceTierOf(request)
  const terms = tier === undefined ? {} : { tier }
  // The estimate of the input is not known here: the longest one has the prices of all lengths.
  const costOf = (tool: ToolTerms): bigint => callCost({ price, inputTokens: Infinity, terms }, tool)
  const dearest = others.reduce((found, each) => (costOf(each) > costOf(found) ? each : found), first)
  const stated = request.parsed()['max_tool_calls']
  const maximum =
    typeof stated === 'number' && Number.isSafeInteger(stated) && stated >= 0 ? stated : Infinity
  if (request.stream) return { ...dearest, calls: Math.min(maximum, 1), maximum }
  return { ...dearest, calls: maximum === Infinity ? defaultCalls : maximum, maximum }
}

function termsOf({ name, image }: HostedTool, { embedded }: ToolRequest, price: Price): ToolTerms {
  if (!image) return { name }
  const tokens = pricesImageTokens(price) ? { tokens: imageTokensToHold(image, embedded) } : {}
  return { name: dearestImageClass(price, [image]) ?? name, ...tokens }
}

/** A text that describes an image is shorter. */
const promptTokens = 1024
/** Of each image in the input (OpenAI, "Image generation", "Cost and latency"). */
const inputImageTokens = { low: 1700, high: 8000 }
const partialImageTokens = 100

/** The tokens of one call. An image that is only referred to may be any number of them; one is held. */
function imageTokensToHold(
  image: ImageRequest,
  { images, hasReferences }: ToolRequest['embedded'],
): ImageToolTokens {
  const inputs = images + (hasReferences ? 1 : 0)
  return {
    input: promptTokens + inputs * inputImageTokens[image.hasHighFidelity ? 'high' : 'low'],
    output: estimateImageTokens(image) + image.partialImages * partialImageTokens,
  }
}
