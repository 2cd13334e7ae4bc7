/** The texts of the price list in each language. */
import type { Language } from '../../notifications/locales/notification-texts.ts'
import type { Modality } from '../../providers/usage.ts'

type RateName = 'input' | 'output' | 'cachedInput' | 'cacheWrite' | 'cacheWrite1h' | 'reasoning' | Modality

export interface PricingMessages {
  readonly title: string
  readonly description: (models: number, currency: string) => string
  /** What all prices of tokens are in. */
  readonly unit: (currency: string) => string
  /** By name; others are shown under their name. */
  readonly operations: Readonly<Record<string, string>>
  readonly model: string
  readonly context: string
  readonly tokens: (count: string) => string
  readonly rates: Readonly<Record<RateName, string>>
  readonly others: string
  readonly free: string
  readonly perRequest: string
  readonly perSearch: string
  readonly perCall: (tool: string) => string
  readonly above: (tokens: string) => string
  readonly tier: (tier: string) => string
  readonly none: string
}

const english: PricingMessages = {
  title: 'Models and prices',
  description: (models, currency) =>
    `Prices of ${models} AI ${models === 1 ? 'model' : 'models'} over one API, in ${currency} per 1 million tokens.`,
  unit: (currency) => `Prices in ${currency} per 1 million tokens, unless another unit is stated.`,
  operations: {
    chat: 'Chat',
    completions: 'Completions',
    embeddings: 'Embeddings',
    images: 'Images',
    speech: 'Speech',
    transcription: 'Transcription',
    rerank: 'Rerank',
    moderation: 'Moderation',
    realtime: 'Realtime',
    video: 'Video',
  },
  model: 'Model',
  context: 'Context',
  tokens: (count) => `${count} tokens`,
  rates: {
    input: 'Input',
    output: 'Output',
    cachedInput: 'Cached input',
    cacheWrite: 'Cache write',
    cacheWrite1h: 'Cache write, 1 hour',
    reasoning: 'Reasoning',
    inputImage: 'Image input',
    inputAudio: 'Audio input',
    cachedInputImage: 'Cached image input',
    cachedInputAudio: 'Cached audio input',
    outputImage: 'Image output',
    outputAudio: 'Audio output',
  },
  others: 'Other prices',
  free: 'Free',
  perRequest: 'Per request',
  perSearch: 'Per web search',
  perCall: (tool) => `Per call of ${tool}`,
  above: (tokens) => `Input over ${tokens} tokens`,
  tier: (tier) => `Service tier ${tier}`,
  none: 'No models are available yet.',
}

const chinese: PricingMessages = {
  title: '模型与价格',
  description: (models, currency) =>
    `通过统一 API 调用 ${models} 个 AI 模型的价格，以 ${currency} / 百万 Token 计。`,
  unit: (currency) => `除另有说明外，价格单位均为 ${currency} / 百万 Token。`,
  operations: {
    chat: '对话',
    completions: '文本补全',
    embeddings: '向量嵌入',
    images: '图片生成',
    speech: '语音合成',
    transcription: '语音识别',
    rerank: '重排序',
    moderation: '内容审核',
    realtime: '实时语音',
    video: '视频生成',
  },
  model: '模型',
  context: '上下文长度',
  tokens: (count) => `${count} Token`,
  rates: {
    input: '输入',
    output: '输出',
    cachedInput: '缓存命中输入',
    cacheWrite: '缓存写入',
    cacheWrite1h: '缓存写入（1 小时）',
    reasoning: '推理',
    inputImage: '图片输入',
    inputAudio: '音频输入',
    cachedInputImage: '缓存命中图片输入',
    cachedInputAudio: '缓存命中音频输入',
    outputImage: '图片输出',
    outputAudio: '音频输出',
  },
  others: '其他价格',
  free: '免费',
  perRequest: '每次请求',
  perSearch: '每次联网搜索',
  perCall: (tool) => `每次调用 ${tool}`,
  above: (tokens) => `输入超过 ${tokens} Token`,
  tier: (tier) => `服务等级 ${tier}`,
  none: '暂无可用模型。',
}

export const pricingMessages: Readonly<Record<Language, PricingMessages>> = {
  en: english,
  'zh-CN': chinese,
}
