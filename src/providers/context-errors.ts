/**
 * Errors of prompts that are longer than the context of the model, or than what is left of it beside the asked maximum.
 * Providers name them by a code or only in words. The sources are their documents, or public reports that quote the
 * error; each entry has such an error in context-errors.test.ts.
 */
import { lookup } from './json-fields.ts'

/** What an upstream says about an error. */
export interface ReportedError {
  readonly status: number | null
  readonly code: string | null
  readonly message: string
  /** What the upstream behind a gateway says about it; absent: nothing. */
  readonly raw?: string | undefined
}

interface ContextError {
  readonly codes?: readonly string[]
  readonly words: RegExp
}

/** OpenAI ("Error codes"), and most servers with its format: vLLM, SGLang, DeepSeek, OpenRouter. */
const openai: ContextError = {
  codes: ['context_length_exceeded', 'string_above_max_length'],
  words:
    /maximum context length|exceeds? the context window|input tokens exceed the configured limit|reduce the length of (?:the|your) (?:messages|prompt|input)/i,
}
/** anthropics/claude-code, entropy-research/Devon#88; the maximum counts, too: stackblitz/bolt.new#7422. */
const anthropic: ContextError = {
  words: /prompt is too long|input length and `?max_tokens`? exceed context limit/i,
}
/** google-gemini/gemini-cli#4692; Vertex: "Unable to submit request because the input token count is …". */
const google: ContextError = {
  words:
    /input token count \(?\d+\)? exceeds the maximum|input token count is \d+ but (?:the )?model only supports/i,
}
/** aws-samples/bedrock-chat#95; Claude's own words: aaif-goose/goose#7504. */
const bedrock: ContextError = {
  words: new RegExp(`input is too long for requested model|${anthropic.words.source}`, 'i'),
}

const byProvider: Readonly<Record<string, ContextError>> = {
  openai,
  azure: openai,
  anthropic,
  gemini: google,
  vertex: { words: new RegExp(`${google.words.source}|${anthropic.words.source}`, 'i') },
  bedrock,
  // cohere-ai/sandbox-topically#4
  cohere: { words: /too many tokens/i },
  deepseek: openai,
  // QwenLM/qwen-code#98
  qwen: { words: /range of input length should be/i },
  // MoonshotAI/kimi-cli#2011
  moonshot: { words: /exceeded model token limit/i },
  // zeroclaw-labs/zeroclaw#4124
  zhipu: { codes: ['1261'], words: /prompt exceeds max length/i },
  // agentscope-ai/QwenPaw#272
  doubao: { words: /exceed max message tokens/i },
  // Qianfan, "Error codes"
  ernie: {
    codes: ['336007', 'tokens_too_long'],
    words: /prompt tokens too long|max input (?:characters|tokens)/i,
  },
  // MiniMax, "Error codes": 2013, and 1039 of its limit of tokens
  minimax: { words: /context window exceeds limit/i },
  // SiliconFlow, "Error handling"
  siliconflow: { words: /length of prompt_tokens .*max_seq_len/i },
  mistral: { words: /too large for model with \d+ maximum context length/i },
  groq: openai,
  // xAI: "This model's maximum prompt length is 131072 but the request contains 537812 tokens."
  xai: { words: /maximum prompt length is \d+/i },
  together: { words: /`inputs` tokens \+ `max_new_tokens` must be/i },
  fireworks: { words: /prompt is too long: \d+/i },
  vllm: { words: new RegExp(`${openai.words.source}|longer than the maximum model length`, 'i') },
  // chflame163/ComfyUI_Qwen_H3_Prompt#5 (llama.cpp), LM Studio, Ollama
  ollama: {
    words:
      /exceeds the available context size|greater than the context length|input length exceeds the context length/i,
  },
}

/** They pass on the words of the servers behind them. */
const gateways = new Set(['openai-compatible', 'openrouter', 'perplexity', 'hunyuan', 'demo'])
const statuses = new Set<number | null>([null, 200, 400, 413, 422])

function matches({ codes = [], words }: ContextError, { code, message, raw = '' }: ReportedError): boolean {
  return (code !== null && codes.includes(code)) || words.test(message) || words.test(raw)
}

/** The prompt is longer than the context of the provider's model. Another upstream of the model would not take it either. */
export function isContextTooLong(provider: string, error: ReportedError): boolean {
  if (!statuses.has(error.status)) return false
  const own = lookup(byProvider, provider)
  // Servers of many kinds answer at an address of one provider's, and most have OpenAI's words.
  if (matches(openai, error) || (own && matches(own, error))) return true
  return gateways.has(provider) && Object.values(byProvider).some((each) => matches(each, error))
}
