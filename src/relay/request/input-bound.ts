/**
 * How much input a request can have: for its hold, which looks at bytes, and for the provider's invoice, which the relay
 * cannot recount, since every provider counts with its own tokenizer. No tokenizer makes more than one token of a byte.
 */
import type { LiveUpstream, PricedModel } from '../../catalog/catalog.ts'
import { factsOf } from '../../catalog/operations.ts'
import { billingLimitsOf, type BillingLimits } from '../../providers/billing-limits.ts'
import type { CallerRequest } from './caller-format.ts'
import { isPricedField } from './restricted-fields.ts'
import { inputEstimateForHold } from './token-estimate.ts'

/** Eight tiles of gpt-4o-mini at high detail (2,833 + 8 × 5,667; OpenAI, "Images and vision"): no known model bills more. */
const maxImageTokens = 48_169

/** Fields with definitions for which providers add instructions of their own, in the formats of OpenAI and Anthropic. */
const instructedFields = ['tools', 'functions', 'response_format', 'text', 'output_config', 'output_format']

type MeasuredRequest = Pick<
  CallerRequest,
  'bytes' | 'embedded' | 'restricted' | 'parsed' | 'maxOutputTokens' | 'previous' | 'tokenIds' | 'format'
>

/** The input tokens to hold. */
export function inputTokensToHold(
  request: MeasuredRequest,
  model: Pick<PricedModel, 'contextTokens' | 'maxOutputTokens'>,
  routes: readonly { readonly upstream: Pick<LiveUpstream, 'provider'> }[],
): number {
  const { embedded } = request
  const estimate = inputEstimateForHold(request.bytes, embedded) + (request.previous?.tokens ?? 0)
  if (!embedded.hasReferences && embedded.documentTokens === 0) return estimate
  const { contextTokens, maxOutputTokens } = model
  const asked = Math.min(request.maxOutputTokens ?? 0, maxOutputTokens ?? contextTokens)
  const room = Math.max(estimate, contextTokens - asked)
  if (embedded.hasReferences) return room
  const pages = routes.map(({ upstream }) => billingLimitsOf(upstream.provider).documentTokens)
  return Math.min(room, estimate - embedded.documentTokens + Math.max(embedded.documentTokens, ...pages))
}

/**
 * The input tokens that an honest invoice has at most.
 * @param isSearching the provider may search the web for it: what it finds is billed as input
 */
export function inputBound(request: MeasuredRequest, limits: BillingLimits, isSearching: boolean): number {
  const { bytes, embedded } = request
  // What the operator has allowed beyond the usual fields may make the provider read anything.
  const isOpen = request.restricted.some((field) => !isPricedField(field))
  if (isSearching || isOpen || embedded.hasReferences) return Infinity
  if (request.tokenIds !== undefined) return request.tokenIds
  // Nobody adds a prompt of its own to a text that is continued or embedded.
  if (factsOf(request.format.operation).model !== 'chat') return bytes
  const parsed = request.parsed()
  // The provider reads the conversation once more to compact it.
  if (parsed['context_management']) return Infinity
  const hasInstructions = instructedFields.some((field) => (parsed[field] ?? null) !== null)
  return (
    bytes +
    (request.previous?.tokens ?? 0) -
    embedded.imageBytes +
    embedded.images * maxImageTokens +
    (embedded.documentTokens > 0 ? limits.documentTokens : 0) +
    limits.promptTokens +
    (hasInstructions ? limits.toolTokens : 0)
  )
}
