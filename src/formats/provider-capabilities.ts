/**
 * The capabilities of providers beyond the OpenAI format, as far as other formats of callers have fields for them. A provider
 * that is not listed has none, since it may reject unknown fields.
 */
import type { Provider } from '../providers/provider.ts'
import { boundedCallId, shortCallId } from '../providers/tool-call-ids.ts'

/** The fields with which a provider is asked to think. `all`: any of them, for providers with their own API format. */
export type ThinkingSupport = 'all' | 'effort' | 'reasoning' | 'switch' | 'enable' | 'none'

export interface ProviderCapabilities {
  readonly provider: string
  /** `cache_control` on parts and tools. */
  readonly promptCache: boolean
  readonly topK: boolean
  readonly user: boolean
  /** `prompt_cache_key`, by which requests with the same beginning find its cache. */
  readonly promptCacheKey: boolean
  /** Ids of tool calls must have nine letters and digits. */
  readonly shortCallIds: boolean
  readonly thinking: ThinkingSupport
  /** Accepts a file by its URL. */
  readonly fileUrl: boolean
  /** Has its own API format. Its translation drops foreign thinking; other providers get back only their own. */
  readonly isTranslated: boolean
  /** Takes back thinking that an API other than chat completions has signed. */
  readonly signedThinking: boolean
}

const effortProviders = new Set([
  'openai',
  'azure',
  'openai-compatible',
  'groq',
  'xai',
  'together',
  'fireworks',
  'perplexity',
  'ollama',
  'vllm',
])
/** `thinking: {type: "enabled" | "disabled"}`. */
const switchProviders = new Set(['deepseek', 'zhipu', 'doubao', 'moonshot'])
/** `enable_thinking` and `thinking_budget`. */
const enableThinkingProviders = new Set(['qwen', 'siliconflow', 'hunyuan', 'ernie'])
const promptCacheProviders = new Set(['openrouter', 'qwen'])
const topKProviders = new Set([
  'openrouter',
  'qwen',
  'siliconflow',
  'together',
  'fireworks',
  'vllm',
  'perplexity',
])
const noUserProviders = new Set(['mistral'])

/** With the Responses API, a provider takes the efforts that it takes otherwise. */
function thinkingSupportOf(provider: string, isTranslated: boolean): ThinkingSupport {
  if (provider === 'openrouter') return 'reasoning'
  if (effortProviders.has(provider)) return 'effort'
  if (isTranslated) return 'all'
  if (switchProviders.has(provider)) return 'switch'
  return enableThinkingProviders.has(provider) ? 'enable' : 'none'
}

export function capabilitiesOf({ name, translation }: Provider): ProviderCapabilities {
  const isTranslated = translation !== undefined
  return {
    provider: name,
    isTranslated,
    promptCache: isTranslated || promptCacheProviders.has(name),
    topK: isTranslated || topKProviders.has(name),
    user: !noUserProviders.has(name),
    promptCacheKey: name === 'openai',
    shortCallIds: name === 'mistral',
    signedThinking: isTranslated || name === 'openrouter',
    thinking: thinkingSupportOf(name, isTranslated),
    fileUrl: isTranslated || name === 'openrouter',
  }
}

/** Of OpenAI. */
const maxCallIdLength = 40

/** The id of a tool call as the provider accepts it. */
export function fitCallId(id: string, { shortCallIds, isTranslated }: ProviderCapabilities): string {
  if (shortCallIds) return shortCallId(id)
  return isTranslated ? id : boundedCallId(id, maxCallIdLength)
}
