/** The dialects an upstream may name (admin API: fixed names). */

export const providerNames = [
  'openai',
  'openai-compatible',
  'anthropic',
  'gemini',
  'vertex',
  'azure',
  'bedrock',
  'perplexity',
  'deepseek',
  'qwen',
  'moonshot',
  'zhipu',
  'doubao',
  'ernie',
  'hunyuan',
  'minimax',
  'siliconflow',
  'mistral',
  'groq',
  'xai',
  'cohere',
  'together',
  'fireworks',
  'openrouter',
  'ollama',
  'vllm',
  'demo',
] as const

export type ProviderName = (typeof providerNames)[number]

export function isProviderName(text: string): text is ProviderName {
  return providerNames.some((name) => name === text)
}
