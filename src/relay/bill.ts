/**
 * Bills a response: by the provider's usage if it reported one for the complete response, else by the estimate of what
 * was received. A usage of zero is a usage, and no usage exceeds what the model can have.
 */
import type { PricedModel } from '../catalog/catalog.ts'
import type { SettleCause } from '../ledger/events.ts'
import type { Usage } from '../ledger/price.ts'
import { clampUsage, type TokenUsage } from '../providers/usage.ts'
import type { EndReason } from './end-reason.ts'
import type { CallerRequest } from './request/caller-format.ts'
import type { UsageMeter } from './streaming/usage-meter.ts'

export interface Bill {
  readonly usage: Usage
  readonly cause: SettleCause
  /** The provider reported more usage than the model can have. */
  readonly isClamped: boolean
}

/** The maximum of output tokens that the model can write per result. */
export function maxOutputTokensOf(model: PricedModel): number {
  return model.maxOutputTokens ?? model.contextTokens
}

/** The bill of a complete response, or of one whose usage is known. */
export function billFromUsage(
  { usage: reported, tokens }: { readonly usage: TokenUsage | null; readonly tokens: number },
  { model, request }: { readonly model: PricedModel; readonly request: CallerRequest },
): Bill {
  if (!reported) return billFromEstimate(tokens, request)
  const output = Math.max(model.contextTokens, maxOutputTokensOf(model)) * request.n
  const { usage, isClamped } = clampUsage(reported, { input: model.contextTokens, output })
  return { usage, cause: 'provider', isClamped }
}

/** The bill of what was received, if the provider reported no usage. */
export function billFromEstimate(outputTokens: number, request: CallerRequest): Bill {
  const input = request.inputTokens()
  const usage = { input, cachedInput: 0, cacheWrite: 0, output: outputTokens, reasoning: 0 }
  return { usage, cause: 'estimate', isClamped: false }
}

/** The bill of a stream: a complete one by the provider's usage, a truncated one by what was received of it. */
export function billFromStream(
  { kind }: EndReason,
  meter: UsageMeter,
  context: { readonly model: PricedModel; readonly request: CallerRequest },
): Bill {
  return kind === 'complete' || meter.finishReason !== null
    ? billFromUsage(meter, context)
    : billFromEstimate(meter.tokens, context.request)
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
