/**
 * Every provider there is, one line each. An upstream names one of them; the admin API, the documents and the contract
 * test read this table. Addresses are the providers' documented ones (November 2026).
 */
import { anthropic } from './anthropic.ts'
import { azure } from './openai/azure.ts'
import { bedrock } from './bedrock/bedrock.ts'
import { commonProvider } from './openai/openai-format.ts'
import { cohere } from './cohere/cohere.ts'
import { gemini } from './google/gemini.ts'
import type { Provider } from './provider.ts'
import { vertex } from './vertex.ts'

const openai = 'max_completion_tokens'

/** Speaks the common format under its documented address. */
const speaks = (name: string, title: string, baseUrl: string | null): Provider =>
  commonProvider({ name, title, baseUrl })

/** In the order in which they are offered. */
export const providers: readonly Provider[] = [
  commonProvider({
    name: 'openai',
    title: 'OpenAI',
    baseUrl: 'https://api.openai.com/v1',
    maximumField: openai,
  }),
  speaks('openai-compatible', 'Any address that speaks the common format', null),
  anthropic,
  gemini,
  vertex,
  azure,
  bedrock,
  speaks('perplexity', 'Perplexity', 'https://api.perplexity.ai'),
  speaks('deepseek', 'DeepSeek', 'https://api.deepseek.com/v1'),
  speaks('qwen', 'Qwen (Alibaba Cloud Model Studio)', 'https://dashscope.aliyuncs.com/compatible-mode/v1'),
  speaks('moonshot', 'Moonshot (Kimi)', 'https://api.moonshot.cn/v1'),
  speaks('zhipu', 'Zhipu (GLM)', 'https://open.bigmodel.cn/api/paas/v4'),
  speaks('doubao', 'Doubao (Volcengine Ark)', 'https://ark.cn-beijing.volces.com/api/v3'),
  speaks('ernie', 'ERNIE (Baidu Qianfan)', 'https://qianfan.baidubce.com/v2'),
  speaks('hunyuan', 'Hunyuan (Tencent)', 'https://api.hunyuan.cloud.tencent.com/v1'),
  speaks('minimax', 'MiniMax', 'https://api.minimax.chat/v1'),
  speaks('siliconflow', 'SiliconFlow', 'https://api.siliconflow.cn/v1'),
  speaks('mistral', 'Mistral', 'https://api.mistral.ai/v1'),
  speaks('groq', 'Groq', 'https://api.groq.com/openai/v1'),
  speaks('xai', 'xAI', 'https://api.x.ai/v1'),
  cohere,
  speaks('together', 'Together', 'https://api.together.xyz/v1'),
  speaks('fireworks', 'Fireworks', 'https://api.fireworks.ai/inference/v1'),
  commonProvider({
    name: 'openrouter',
    title: 'OpenRouter',
    baseUrl: 'https://openrouter.ai/api/v1',
    takesSignedThinking: true,
  }),
  speaks('ollama', 'Ollama', 'http://127.0.0.1:11434/v1'),
  speaks('vllm', 'vLLM', 'http://127.0.0.1:8000/v1'),
  speaks('demo', 'Demonstration (writes deterministic text)', null),
]

const byName: ReadonlyMap<string, Provider> = new Map(providers.map((provider) => [provider.name, provider]))

export const providerNames: readonly string[] = providers.map((provider) => provider.name)

/** The provider of this name; `undefined` when there is none. */
export function providerOf(name: string): Provider | undefined {
  return byName.get(name)
}

/** The dialect in which a provider's model is spoken to; `undefined` when there is no such provider. */
export function dialectOf(name: string, model: string): Provider | undefined {
  const provider = byName.get(name)
  return provider?.dialectOf?.(model) ?? provider
}
