/**
 * What an honest invoice of a provider may contain beyond what the request shows: reasoning beside the asked maximum, the
 * text that the provider adds to the prompt, and the tokens of a document's pages. The bound of an invoice (relay/bill.ts)
 * is made of it, so a number that is too small charges the operator, and one that is too large the customers.
 *
 * Sources (November 2026), by provider:
 * - OpenAI, Azure: `max_completion_tokens` includes "visible output tokens and reasoning tokens" (API reference).
 * - Anthropic, also on Bedrock and Vertex: thinking counts within `max_tokens` ("Extended thinking"). Tools add a system
 *   prompt of 159 to 804 tokens, Anthropic's own client tools 245 to 735 each ("Tool use", "Pricing"); a PDF has at most
 *   600 pages per request, 100 with a context of 200,000 tokens, each with 1,500 to 3,000 tokens of text and an image of up
 *   to 1,600 ("PDF support").
 * - Google: thoughts and response share `maxOutputTokens`: 8,189 + 3 for 8,192 (discuss.ai.google.dev/t/198148) and
 *   googleapis/python-genai issues 782 and 2062. A document has at most 1,000 pages of 258 tokens, 560 by default and
 *   1,120 at high resolution with Gemini 3 ("Document understanding", "Media resolution").
 * - DeepSeek (`max_tokens` "including the CoT part"), Moonshot, Zhipu, Groq, Mistral: reasoning counts
 *   (BerriAI/litellm-docs 559: 199 of 200 tokens of kimi-k2.5 were reasoning).
 * - xAI: `reasoning_tokens` are not part of `completion_tokens`, as `total_tokens` shows (UKGovernmentBEIS/inspect_ai
 *   5528), and its documents do not say that the maximum covers them. It adds a hidden system prompt of several hundred
 *   tokens.
 * - SiliconFlow: `max_tokens` limits the final output, "excluding the chain-of-thought part", which has `thinking_budget`
 *   ("Reasoning models"). Qwen has the same field (Model Studio, "Deep thinking"). Of Doubao and ERNIE no document was found
 *   that says what their maximum covers, so reasoning is not held against them. DeepSeek's models count alike there.
 * - OpenRouter passes the maximum on to providers with any of these rules.
 * - Perplexity: `reasoning_tokens` and `citation_tokens` of deep research stand beside `completion_tokens` and are not
 *   charged; what it reads while it searches is not part of `prompt_tokens`.
 * - Templates of open models, which any provider may serve, add their own system prompts: about 70 tokens for gpt-oss, up
 *   to 450 for Mistral's (`chat_template` in their repositories); templates of tools add 100 to 400. Recorded invoices have
 *   up to 850 tokens for a short prompt.
 */
import type { TokenUsage } from './usage.ts'

export interface BillingLimits {
  /** The asked maximum limits the answer alone; reasoning is billed in addition. */
  readonly excludesReasoning: boolean
  /** The maximum of tokens that the provider adds to any prompt. */
  readonly promptTokens: number
  /** The maximum of tokens that it adds for tools, functions and response formats, besides their definitions. */
  readonly toolTokens: number
  /** The maximum of tokens of all documents of a request, if each page has as many as it can. */
  readonly documentTokens: number
  /** The maximum of searches per result where the request states none. */
  readonly searches: number
}

const usual: BillingLimits = {
  excludesReasoning: false,
  promptTokens: 1024,
  toolTokens: 512,
  // 100 pages, each with its text and its image.
  documentTokens: 100 * 4_600,
  searches: 10,
}

const separateReasoning: BillingLimits = { ...usual, excludesReasoning: true }
const anthropicLimits: BillingLimits = { ...usual, toolTokens: 4096, documentTokens: 600 * 4_600 }

const limits: ReadonlyMap<string, BillingLimits> = new Map([
  ['anthropic', anthropicLimits],
  ['gemini', { ...usual, documentTokens: 1_000 * 1_120 }],
  // These also serve Anthropic's models.
  ['vertex', anthropicLimits],
  ['bedrock', anthropicLimits],
  ['openrouter', { ...anthropicLimits, excludesReasoning: true }],
  // Live Search bills up to 20 sources by default, 30 at most (`max_search_results`).
  ['xai', { ...separateReasoning, searches: 30 }],
  // Deep research makes dozens of searches.
  ['perplexity', { ...usual, searches: 100 }],
  ['qwen', separateReasoning],
  ['doubao', separateReasoning],
  ['ernie', separateReasoning],
  ['siliconflow', separateReasoning],
])

/** The limits of a provider, by the name that upstreams have for it. */
export function billingLimitsOf(provider: string): BillingLimits {
  return limits.get(provider) ?? usual
}

/**
 * The output tokens that an honest invoice has at most.
 * @param maximum the asked maximum, over all results
 */
export function boundedOutput(
  { output, reasoning }: Pick<TokenUsage, 'output' | 'reasoning'>,
  maximum: number,
  { excludesReasoning }: BillingLimits,
): number {
  return Math.min(output, excludesReasoning ? maximum + reasoning : maximum)
}
