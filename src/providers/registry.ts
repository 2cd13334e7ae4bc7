/**
 * Every provider there is, one line each. An upstream names one of them; the admin API, the documents and the contract
 * test read this table. Addresses are the providers' documented ones (November 2026).
 */
import { commonProvider } from './common.ts'
import type { Provider } from './provider.ts'

const openai = 'max_completion_tokens'

const all: readonly Provider[] = [
  commonProvider({
    name: 'openai',
    title: 'OpenAI',
    baseUrl: 'https://api.openai.com/v1',
    maximumField: openai,
  }),
  commonProvider({
    name: 'openai-compatible',
    title: 'Any address that speaks the common format',
    baseUrl: null,
  }),
  commonProvider({
    name: 'perplexity',
    title: 'Perplexity',
    baseUrl: 'https://api.perplexity.ai',
  }),
  commonProvider({ name: 'deepseek', title: 'DeepSeek', baseUrl: 'https://api.deepseek.com/v1' }),
  commonProvider({
    name: 'qwen',
    title: 'Qwen (Alibaba Cloud Model Studio)',
    baseUrl: 'https://dashscope.aliyuncs.com/compatible-mode/v1',
  }),
  commonProvider({ name: 'demo', title: 'Demonstration (writes deterministic text)', baseUrl: null }),
]

const byName: ReadonlyMap<string, Provider> = new Map(all.map((provider) => [provider.name, provider]))

export const providerNames: readonly string[] = all.map((provider) => provider.name)

/** The provider of this name; `undefined` when there is none. */
export function providerOf(name: string): Provider | undefined {
  return byName.get(name)
}
