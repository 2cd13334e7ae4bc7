/**
 * The thinking parameters of Claude models, wherever they are served. Models up to 4.5 take a token budget; later ones
 * decide by themselves and take an effort (Anthropic, "Adaptive thinking").
 */
import type { ParsedChatRequest } from '../chat-request.ts'
import { lookup, type Json } from '../json-fields.ts'
import { detailsOfFormat } from '../reasoning-details.ts'
import { takesThinkingBudget } from './claude-models.ts'

/** The share of the response that may be thinking, by effort. */
const shares: Readonly<Record<string, number>> = {
  minimal: 0.1,
  low: 0.2,
  medium: 0.5,
  high: 0.8,
  xhigh: 0.9,
}
const minBudget = 1024
const maxBudget = 32_000

/** Anthropic's names of efforts, where they differ. */
const efforts: Readonly<Record<string, string>> = { minimal: 'low' }

function thinkingBudget(wanted: number | null, effort: string, maximumTokens: number): number | undefined {
  const budget = wanted ?? Math.min(Math.floor(maximumTokens * (lookup(shares, effort) ?? 0.5)), maxBudget)
  const raised = Math.max(budget, minBudget)
  // The budget is part of the response's maximum: if both do not fit, there is no thinking.
  return raised < maximumTokens ? raised : undefined
}

/**
 * After tool calls and in the middle of a message, thinking with a budget can continue only if the thinking before them
 * was sent back, which most callers with the OpenAI format do not do.
 */
function canContinueThinking({ messages }: ParsedChatRequest, format: string): boolean {
  const lastAssistant = messages.findLast(({ role }) => role === 'assistant')
  if (!lastAssistant) return true
  const isOver = lastAssistant.toolCalls.length === 0 && messages.at(-1) !== lastAssistant
  return isOver || detailsOfFormat(lastAssistant.reasoningDetails, format).length > 0
}

/** Claude does not think if it must call a tool (Anthropic, "Extended thinking", tool choice). */
function mustCallTool({ tools, toolChoice }: ParsedChatRequest): boolean {
  return tools.length > 0 && toolChoice !== null && toolChoice !== 'auto' && toolChoice !== 'none'
}

/**
 * The values of `thinking` and `output_config.effort`; none if the caller specifies nothing. `format`: the provider's
 * `format` of signed thinking.
 */
export function claudeThinking(
  request: ParsedChatRequest,
  about: { readonly model: string; readonly maximumTokens: number; readonly format: string },
): { readonly thinking?: Json; readonly effort?: string } {
  const { reasoning } = request
  if (reasoning === null) return {}
  const effort = reasoning.effort ?? 'medium'
  if (effort === 'none') return { thinking: { type: 'disabled' } }
  if (mustCallTool(request)) return {}
  if (takesThinkingBudget(about.model)) {
    const budget = thinkingBudget(reasoning.tokens, effort, about.maximumTokens)
    if (budget === undefined || !canContinueThinking(request, about.format)) return {}
    return { thinking: { type: 'enabled', budget_tokens: budget } }
  }
  const thinking = { type: 'adaptive', display: reasoning.isHidden ? 'omitted' : 'summarized' }
  return reasoning.effort === null ? { thinking } : { thinking, effort: lookup(efforts, effort) ?? effort }
}
