/**
 * Bills a response: by the provider's usage if it reported one for the complete response, else by the estimate of what
 * was received. A usage of zero is a usage, and no usage exceeds what the model can have. The provider's claim is charged
 * up to the bound of the request: what it asked for, and what its body can contain (docs/money.md, "False invoices").
 */
import type { PricedModel } from '../catalog/catalog.ts'
import type { SettleCause } from '../ledger/events.ts'
import type { Usage } from '../ledger/price.ts'
import { billingLimitsOf, boundedOutput, type BillingLimits } from '../providers/billing-limits.ts'
import { parseClassedName } from '../providers/image-classes.ts'
import { clampUsage, countNames, createUsage } from '../providers/usage.ts'
import type { EndReason } from './end-reason.ts'
import type { CallerRequest } from './request/caller-format.ts'
import {
  addImages,
  boundImageTokens,
  chargeImages,
  findImages,
  withoutImages,
  type ImageCharge,
  type MadeImages,
} from './image-bill.ts'
import { inputBound } from './request/input-bound.ts'
import { offeredSearches, type OfferedSearches, type SearchingRoute } from './request/offered-searches.ts'
import { pricedTools, toolCallsToHold } from './request/hosted-tools.ts'
import { isPricedField, serviceTierOf } from './request/restricted-fields.ts'
import type { UsageMeter } from './streaming/usage-meter.ts'

export interface Bill {
  /** What the provider claims, as far as the model can have it. */
  readonly usage: Usage
  /** What is charged at most, if the claim exceeds the bound of the request; else absent. */
  readonly bound?: Usage
  readonly cause: SettleCause
  /** The claim exceeds what the model can have, or the bound of the request. */
  readonly isClamped: boolean
  /** Images of the image tool, if there are any. What is charged of them is part of the usage. */
  readonly images?: ImageCharge & {
    readonly made: MadeImages
    /** The usage without them. */
    readonly others: Usage
  }
}

/** A request that was served. */
export interface ServedRequest {
  readonly request: CallerRequest
  /** The requested model. */
  readonly model: PricedModel
  /** The model that served it: the requested one, or a fallback. */
  readonly servedModel: PricedModel
  /** `null`: unknown. */
  readonly route: SearchingRoute | null
  /** The maximum per result to which the hold lowered the request; `null`: it did not. */
  readonly loweredMaximum: number | null
  /** The API of the upstream raises a smaller maximum to this; absent: it does not. */
  readonly minMaximumTokens?: number | undefined
}

export type OutputBound = Pick<PricedModel, 'maxOutputTokens' | 'contextTokens'>

/** The maximum of output tokens that the model can write per result. */
export function maxOutputTokensOf(model: OutputBound): number {
  return model.maxOutputTokens ?? model.contextTokens
}

/**
 * The maximum of output tokens per result that the upstream is asked for: the caller's, the lower one of the hold, or the
 * higher one that the upstream's API requires. `null`: none.
 */
export function askedMaximum({
  request,
  loweredMaximum,
  minMaximumTokens,
}: Pick<ServedRequest, 'request' | 'loweredMaximum' | 'minMaximumTokens'>): number | null {
  const { maxOutputTokens } = request
  if (maxOutputTokens === null && loweredMaximum === null) return null
  const asked = Math.min(maxOutputTokens ?? Infinity, loweredMaximum ?? Infinity)
  return Math.max(asked, minMaximumTokens ?? 0)
}

/** The maximum of output tokens that was asked for, over all results; without one, the model's. */
function maxOutputOf(served: ServedRequest): number {
  return (askedMaximum(served) ?? maxOutputTokensOf(served.servedModel)) * served.request.n
}

type MeteredResponse = Pick<
  UsageMeter,
  'usage' | 'tokens' | 'searches' | 'tier' | 'toolCalls' | 'finishReason'
>

function offeredBy({ request, route }: ServedRequest): OfferedSearches | null {
  return offeredSearches(request, route ? [route] : [])
}

/** The tier is what the response says, else what was asked for. */
function withTier(usage: Usage, served: string | null, { request }: ServedRequest): Usage {
  const tier = served === 'default' ? undefined : (served ?? usage.tier ?? serviceTierOf(request))
  return tier === usage.tier ? usage : createUsage({ ...usage, tier })
}

/** Only tools that the request offers and that have a price are charged; a search then by the call. */
function withTools(
  usage: Usage,
  calls: Readonly<Record<string, number>>,
  { request, model }: ServedRequest,
): Usage {
  const priced = new Set(pricedTools(request, model.price).map(({ name }) => name))
  if (priced.size === 0 && usage.toolCalls === undefined && usage.imageTool === undefined) return usage
  const charged = Object.entries(calls).filter(
    ([name, count]) => count > 0 && priced.has(parseClassedName(name).tool),
  )
  const { searches = 0, imageTool: _, ...others } = usage
  return createUsage({
    ...others,
    searches: priced.has('web_search') ? 0 : searches,
    toolCalls: Object.fromEntries(charged),
  })
}

/** The bill with the tokens of images, which are no part of the other tokens and have a bound of their own. */
function withImages(bill: Bill, made: MadeImages | null, served: ServedRequest): Bill {
  if (!made) return bill
  const { model, servedModel } = served
  const { usage, bound = usage, cause } = bill
  const charge = chargeImages(made, model.price)
  const others = createUsage({ ...usage, toolCalls: withoutImages(usage.toolCalls ?? {}) })
  const images = { ...charge, made, others }
  const { tokens } = charge
  if (!tokens) return { ...bill, images }
  const charged = boundImageTokens(tokens, made, {
    maxCalls: maxCallsOf(served),
    contextTokens: servedModel.contextTokens,
  })
  const isBounded = bound !== usage || charged.input < tokens.input || charged.output < tokens.output
  return {
    usage: addImages(usage, { calls: {}, tokens }),
    ...(isBounded ? { bound: addImages(bound, { calls: {}, tokens: charged }) } : {}),
    cause: charge.isEstimated ? 'estimate' : cause,
    isClamped: bill.isClamped || isBounded,
    images,
  }
}

/** All calls, those of images by the class that applies. */
function chargedCalls(
  calls: Readonly<Record<string, number>>,
  made: MadeImages | null,
  { model }: ServedRequest,
) {
  return made ? { ...withoutImages(calls), ...chargeImages(made, model.price).calls } : calls
}

function maxCallsOf({ request, model }: ServedRequest): number {
  return toolCallsToHold(request, model.price)?.maximum ?? Infinity
}

/** The calls that the request allows, at most; null: all of them are within. */
function boundedTools({ toolCalls }: Usage, served: ServedRequest): Usage['toolCalls'] | null {
  if (!toolCalls) return null
  let left = maxCallsOf(served)
  const counts = Object.entries(toolCalls).map(([name, count]) => {
    const allowed = Math.min(count, left)
    left -= allowed
    return [name, allowed] as const
  })
  const isWithin = counts.every(([name, count]) => toolCalls[name] === count)
  return isWithin ? null : Object.fromEntries(counts.filter(([, count]) => count > 0))
}

/** The bill of a complete response, or of one whose usage is known. */
export function billFromUsage(
  { usage: reportedUsage, tokens, searches, tier, toolCalls, finishReason }: MeteredResponse,
  served: ServedRequest,
): Bill {
  if (!reportedUsage) return billFromEstimate({ tokens, searches, tier, toolCalls, finishReason }, served)
  // No prompt has no tokens, so that a zero next to output is no count.
  const isInputUnknown = reportedUsage.input === 0 && reportedUsage.output > 0
  const counted = isInputUnknown ? { ...reportedUsage, input: served.request.inputTokens() } : reportedUsage
  const isUncounted = searches > 0 && counted.searches === undefined && offeredBy(served) !== null
  const calls = counted.toolCalls ?? countNames(toolCalls)
  const images = findImages(calls, counted.imageTool, served.request.hostedTools)
  const reported = withTools(
    withTier(isUncounted ? { ...counted, searches } : counted, tier, served),
    chargedCalls(calls, images, served),
    served,
  )
  const { model, request } = served
  const output = Math.max(model.contextTokens, maxOutputTokensOf(model)) * request.n
  const { usage, isClamped } = clampUsage(reported, { input: model.contextTokens, output })
  const charged = boundOf(usage, tokens, served)
  const isBounded = charged !== null
  const bill: Bill = {
    usage,
    ...(isBounded ? { bound: charged } : {}),
    cause: isInputUnknown ? 'estimate' : 'provider',
    isClamped: isClamped || isBounded,
  }
  return withImages(bill, images, served)
}

function limitsOf({ route }: ServedRequest): BillingLimits {
  return billingLimitsOf(route?.upstream.provider ?? '')
}

/**
 * What is charged of a claim; `null`: all of it.
 * @param delivered the output tokens that the caller gets, by the relay's count: an upstream that ignored the maximum is paid
 */
function boundOf(usage: Usage, delivered: number, served: ServedRequest): Usage | null {
  const { request } = served
  const { searches = 0 } = usage
  const limits = limitsOf(served)
  const maximum = maxOutputOf(served)
  const output = Math.min(usage.output, Math.max(boundedOutput(usage, maximum, limits), delivered))
  // The usual invoice is smaller than the text of the body.
  const isSmall = usage.input <= (request.tokenIds ?? request.bytes - request.embedded.bytes)
  const tools = boundedTools(usage, served)
  if (isSmall && output === usage.output && searches === 0 && tools === null) return null
  const isSearching = offeredBy(served) !== null || pricedTools(request, served.model.price).length > 0
  const charged = createUsage({
    ...usage,
    input: isSmall ? usage.input : Math.min(usage.input, inputBound(request, limits, isSearching)),
    output: output < usage.output ? Math.min(usage.output, output + extraOutput(served)) : output,
    searches: boundedSearches(searches, served),
    ...(tools ? { toolCalls: tools } : {}),
  })
  const isWithin =
    tools === null &&
    charged.input === usage.input &&
    charged.output === usage.output &&
    (charged.searches ?? 0) === searches
  return isWithin ? null : charged
}

function boundedSearches(searches: number, served: ServedRequest): number {
  const offered = searches === 0 ? null : offeredBy(served)
  return offered ? Math.min(searches, (offered.maximum ?? limitsOf(served).searches) * served.request.n) : 0
}

/** Output tokens that may be billed beside the maximum. */
export function extraOutput({
  request,
  servedModel,
}: {
  readonly request: CallerRequest
  readonly servedModel: OutputBound
}): number {
  if (request.restricted.some((field) => !isPricedField(field) && field.tool === undefined)) return Infinity
  const parsed = request.parsed()
  // The summary of a long conversation is a run of its own (Anthropic, "Compaction").
  const compaction = parsed['context_management'] ? maxOutputTokensOf(servedModel) : 0
  // What the model does not use of a prediction is billed as output (OpenAI, "Predicted Outputs").
  return compaction + (parsed['prediction'] ? request.bytes : 0)
}

/**
 * The bill of what was received, if the provider reported no usage. If the upstream says that it ended the response at the
 * maximum, no more than that is charged: the relay's count may be higher.
 */
export function billFromEstimate(
  { tokens, searches, tier, toolCalls, finishReason }: Omit<MeteredResponse, 'usage'>,
  served: ServedRequest,
): Bill {
  const isBounded = finishReason === 'length' && !limitsOf(served).excludesReasoning
  const output = isBounded ? Math.min(tokens, maxOutputOf(served)) : tokens
  const input = served.request.inputTokens()
  const usage = createUsage({ input, output, searches: boundedSearches(searches, served) })
  const calls = countNames(toolCalls)
  const images = findImages(calls, undefined, served.request.hostedTools)
  const bill: Bill = {
    usage: withTools(withTier(usage, tier, served), chargedCalls(calls, images, served), served),
    cause: 'estimate',
    isClamped: false,
  }
  return withImages(bill, images, served)
}

/** The bill of a stream that the relay ended at a maximum that its upstream ignores: of what was delivered. */
export function billFromCut(
  tokens: number,
  meter: Omit<MeteredResponse, 'usage'>,
  served: ServedRequest,
): Bill {
  const { searches, tier, toolCalls } = meter
  const delivered = { tokens, searches, tier, toolCalls, finishReason: null }
  return { ...billFromEstimate(delivered, served), isClamped: true }
}

/**
 * The bill of a stream that money ended, of which the provider may have reported its usage: the input, and what was
 * delivered of the output.
 * @param tokens the output tokens that were delivered, by the relay's count
 */
export function billWithoutMoney(tokens: number, meter: MeteredResponse, served: ServedRequest): Bill {
  const { searches, tier, toolCalls } = meter
  if (!meter.usage) return billFromEstimate({ tokens, searches, tier, toolCalls, finishReason: null }, served)
  const bill = billFromUsage(meter, served)
  const { usage, bound = usage } = bill
  // The relay may count more tokens than the provider: the same share of both was delivered.
  const share = meter.tokens > usage.output ? usage.output / meter.tokens : 1
  const output = Math.min(bound.output, Math.ceil(tokens * share))
  if (output === usage.output) return bill
  return { ...bill, bound: createUsage({ ...bound, output }), isClamped: true }
}

/**
 * The bill of a stream: a complete one, and one that its provider marks as failed, by the provider's usage; a truncated one by
 * what was received of it.
 */
export function billFromStream({ kind }: EndReason, meter: UsageMeter, served: ServedRequest): Bill {
  return kind === 'complete' || meter.finishReason !== null || meter.hasFailedWithUsage
    ? billFromUsage(meter, served)
    : billFromEstimate(meter, served)
}

/** Usage in the OpenAI format. */
export function serializeUsage(usage: Usage): Record<string, unknown> {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cachedInput },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
  }
}
