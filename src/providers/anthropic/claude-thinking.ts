/**
 * How much a Claude model is asked to think, wherever it is served. Models up to 4.5 take a budget of tokens; later
 * ones decide for themselves how much, and take an effort (Anthropic, "Adaptive thinking").
 */
import type { ChatRequest } from '../chat-request.ts'
import { entryOf, type Json } from '../json-fields.ts'
import { detailsOf } from '../reasoning-details.ts'

const budgeted = /claude-(?:instant|v?2|3|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?!\d|-[6-9](?!\d)))/

/** Share of the answer that may be thinking, by effort. */
const shares: Readonly<Record<string, number>> = {
  minimal: 0.1,
  low: 0.2,
  medium: 0.5,
  high: 0.8,
  xhigh: 0.9,
}
const leastBudget = 1024
const mostBudget = 32_000

/** Efforts in Anthropic's words, where they differ. */
const efforts: Readonly<Record<string, string>> = { minimal: 'low' }

function budgetOf(wanted: number | null, effort: string, maximumTokens: number): number | undefined {
  const budget = wanted ?? Math.min(Math.floor(maximumTokens * (entryOf(shares, effort) ?? 0.5)), mostBudget)
  const raised = Math.max(budget, leastBudget)
  // The budget is part of the answer's maximum: without room for both, it answers without thinking.
  return raised < maximumTokens ? raised : undefined
}

/**
 * In the middle of a turn with tools, thinking by budget goes on only where the thinking before the calls came back;
 * most callers of the common format do not send it.
 */
function mayGoOn({ messages }: ChatRequest, format: string): boolean {
  if (messages.at(-1)?.role !== 'tool') return true
  const asked = messages.findLast(({ role }) => role === 'assistant')
  return !asked || detailsOf(asked.reasoningDetails, format).length > 0
}

/**
 * What to send as `thinking` and as `output_config.effort`; nothing when the caller does not say. `format`: how this
 * place names its signed thinking.
 */
export function claudeThinking(
  request: ChatRequest,
  about: { readonly model: string; readonly maximumTokens: number; readonly format: string },
): { readonly thinking?: Json; readonly effort?: string } {
  const { reasoning } = request
  if (reasoning === null) return {}
  const effort = reasoning.effort ?? 'medium'
  if (effort === 'none') return { thinking: { type: 'disabled' } }
  if (budgeted.test(about.model)) {
    const budget = budgetOf(reasoning.tokens, effort, about.maximumTokens)
    if (budget === undefined || !mayGoOn(request, about.format)) return {}
    return { thinking: { type: 'enabled', budget_tokens: budget } }
  }
  const thinking = { type: 'adaptive', display: reasoning.isHidden ? 'omitted' : 'summarized' }
  return reasoning.effort === null ? { thinking } : { thinking, effort: entryOf(efforts, effort) ?? effort }
}
