/**
 * What providers of the common format take beyond it, as far as Anthropic's format has words for it. Who is not named
 * takes none: an unknown field may be refused.
 */
import type { Provider } from '../providers/provider.ts'

/** How a provider is told to think. `all`: in any of the ways, for dialects that read the request themselves. */
export type ThinkingTaste = 'all' | 'effort' | 'reasoning' | 'switch' | 'enable' | 'none'

export interface Taste {
  readonly provider: string
  /** `cache_control` on parts and tools. */
  readonly cache: boolean
  readonly topK: boolean
  readonly user: boolean
  /** Names of tool calls have nine letters and digits. */
  readonly shortCallIds: boolean
  readonly thinking: ThinkingTaste
  /** A file may be named by its address. */
  readonly fileUrl: boolean
  /** A dialect of its own drops thinking that it did not make; others get back only their own. */
  readonly isDialect: boolean
}

const effort = new Set([
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
const switched = new Set(['deepseek', 'zhipu', 'doubao', 'moonshot'])
/** `enable_thinking` and `thinking_budget`. */
const enabled = new Set(['qwen', 'siliconflow', 'hunyuan', 'ernie'])
const cached = new Set(['openrouter', 'qwen'])
const topped = new Set(['openrouter', 'qwen', 'siliconflow', 'together', 'fireworks', 'vllm', 'perplexity'])
const withoutUser = new Set(['mistral'])

function thinkingOf(provider: string): ThinkingTaste {
  if (provider === 'openrouter') return 'reasoning'
  if (effort.has(provider)) return 'effort'
  if (switched.has(provider)) return 'switch'
  return enabled.has(provider) ? 'enable' : 'none'
}

export function tasteOf({ name, translation }: Provider): Taste {
  const isDialect = translation !== undefined
  return {
    provider: name,
    isDialect,
    cache: isDialect || cached.has(name),
    topK: isDialect || topped.has(name),
    user: !withoutUser.has(name),
    shortCallIds: name === 'mistral',
    thinking: isDialect ? 'all' : thinkingOf(name),
    fileUrl: isDialect || name === 'openrouter',
  }
}
