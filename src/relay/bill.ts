/**
 * What an answer is billed at: the provider's own usage where it told one for the whole answer, else the
 * specification's estimate of what was received. Zero is not absent, and no claim goes beyond what the model can hold.
 */
import type { PricedModel } from '../catalog/catalog.ts'
import type { SettleCause } from '../ledger/events.ts'
import type { Usage } from '../ledger/price.ts'
import { boundedUsage, type TokenUsage } from '../providers/usage.ts'
import type { CallerRequest } from './caller-format.ts'

export interface Bill {
  readonly usage: Usage
  readonly cause: SettleCause
  /** The provider claimed more than the model can hold. */
  readonly isClamped: boolean
}

/** The most output tokens the model can write per result. */
export function modelTokensOf(model: PricedModel): number {
  return model.maxOutputTokens ?? model.contextTokens
}

/** The bill of a complete answer. `written`: its output tokens by the estimate rule. */
export function billOf(
  told: TokenUsage | null,
  written: number,
  about: { readonly model: PricedModel; readonly request: CallerRequest },
): Bill {
  if (!told) return estimatedBill(written, about.request)
  const most = {
    input: about.model.contextTokens,
    output: Math.max(about.model.contextTokens, modelTokensOf(about.model)) * about.request.n,
  }
  const { usage, clamped } = boundedUsage(told, most)
  return { usage, cause: 'provider', isClamped: clamped }
}

/** The bill of what was received, when the provider's is not there. */
export function estimatedBill(written: number, request: CallerRequest): Bill {
  const input = request.inputTokens()
  const usage = { input, cachedInput: 0, cacheWrite: 0, output: written, reasoning: 0 }
  return { usage, cause: 'estimate', isClamped: false }
}

/** Usage as the format writes it. */
export function usageBody(usage: Usage): Record<string, unknown> {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cachedInput },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
  }
}
