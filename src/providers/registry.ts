/**
 * All providers, one line each. An upstream names one of them; the admin API, the docs and the contract tests read this
 * table. The base URLs are the providers' documented ones (November 2026).
 */
import { anthropic } from './anthropic/anthropic.ts'
import { azure } from './openai/azure.ts'
import { bedrock } from './bedrock/bedrock.ts'
import { mistral } from './openai/mistral.ts'
import { openAICompatibleProvider } from './openai/openai-format.ts'
import { cohere } from './cohere/cohere.ts'
import { gemini } from './google/gemini.ts'
import type { Provider, Spoken, UpstreamSettings } from './provider.ts'
import { vertex } from './google/vertex.ts'

const openaiMaximumField = 'max_completion_tokens'

/** A provider with the OpenAI format at its documented base URL. */
const openAICompatible = (name: string, title: string, baseUrl: string | null): Provider =>
  openAICompatibleProvider({ name, title, baseUrl })

/** In the order in which the console lists them. */
export const providers: readonly Provider[] = [
  openAICompatibleProvider({
    name: 'openai',
    title: 'OpenAI',
    baseUrl: 'https://api.openai.com/v1',
    maximumField: openaiMaximumField,
    speaks: ['responses'],
  }),
  openAICompatible('openai-compatible', 'OpenAI-compatible (custom URL)', null),
  anthropic,
  gemini,
  vertex,
  azure,
  bedrock,
  openAICompatible('perplexity', 'Perplexity', 'https://api.perplexity.ai'),
  openAICompatibleProvider({
    name: 'deepseek',
    title: 'DeepSeek',
    baseUrl: 'https://api.deepseek.com/v1',
    // Completions are a beta (DeepSeek, "FIM completion"); the documented base URLs end with `/v1` or without a path.
    completionsUrl: ({ baseUrl }) => `${baseUrl.replace(/(?:\/v1|\/beta)?$/, '/beta')}/completions`,
  }),
  openAICompatibleProvider({
    name: 'qwen',
    title: 'Qwen (Alibaba Cloud Model Studio)',
    baseUrl: 'https://dashscope.aliyuncs.com/compatible-mode/v1',
    // Of text-embedding-v3 and -v4; earlier ones take 25 (Model Studio, "Embedding").
    maxEmbeddingInputs: 10,
  }),
  openAICompatible('moonshot', 'Moonshot (Kimi)', 'https://api.moonshot.cn/v1'),
  openAICompatible('zhipu', 'Zhipu (GLM)', 'https://open.bigmodel.cn/api/paas/v4'),
  openAICompatible('doubao', 'Doubao (Volcengine Ark)', 'https://ark.cn-beijing.volces.com/api/v3'),
  openAICompatible('ernie', 'ERNIE (Baidu Qianfan)', 'https://qianfan.baidubce.com/v2'),
  openAICompatible('hunyuan', 'Hunyuan (Tencent)', 'https://api.hunyuan.cloud.tencent.com/v1'),
  openAICompatible('minimax', 'MiniMax', 'https://api.minimax.chat/v1'),
  openAICompatible('siliconflow', 'SiliconFlow', 'https://api.siliconflow.cn/v1'),
  mistral,
  openAICompatible('groq', 'Groq', 'https://api.groq.com/openai/v1'),
  openAICompatibleProvider({
    name: 'xai',
    title: 'xAI',
    baseUrl: 'https://api.x.ai/v1',
    speaks: ['responses'],
  }),
  cohere,
  openAICompatible('together', 'Together', 'https://api.together.xyz/v1'),
  openAICompatible('fireworks', 'Fireworks', 'https://api.fireworks.ai/inference/v1'),
  openAICompatibleProvider({
    name: 'openrouter',
    title: 'OpenRouter',
    baseUrl: 'https://openrouter.ai/api/v1',
    takesSignedThinking: true,
  }),
  openAICompatible('ollama', 'Ollama', 'http://127.0.0.1:11434/v1'),
  openAICompatible('vllm', 'vLLM', 'http://127.0.0.1:8000/v1'),
  openAICompatible('demo', 'Demonstration (writes deterministic text)', null),
]

const byName: ReadonlyMap<string, Provider> = new Map(providers.map((provider) => [provider.name, provider]))

export const providerNames: readonly string[] = providers.map((provider) => provider.name)

/** The provider of this name; `undefined` if there is none. */
export function findProvider(name: string): Provider | undefined {
  return byName.get(name)
}

/** Do the upstreams of this provider speak the API, as they or their provider say? */
export function speaks(api: Spoken, provider: Provider, { speaks: own }: UpstreamSettings): boolean {
  return (own ?? provider.speaks ?? []).includes(api)
}

/** The provider to use for a model; `undefined` if there is no provider of this name. */
export function providerForModel(name: string, model: string): Provider | undefined {
  const provider = byName.get(name)
  return provider?.forModel?.(model) ?? provider
}
