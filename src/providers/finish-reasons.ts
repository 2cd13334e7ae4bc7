/**
 * What the finish reasons of each provider mean, by their documents (November 2026). A reason that is not listed is unknown:
 * it is passed on as it is. Reasons are compared in lower case.
 */
import { lookup } from './json-fields.ts'

export type FinishClass =
  /** By itself, at a stop sequence, or with calls of tools. */
  | 'finished'
  /** At the maximum of output tokens, or of the context. */
  | 'length'
  /** The provider does not show the rest of it. */
  | 'filtered'
  /** The provider could not complete it. */
  | 'failed'

export type FinishReasons = Readonly<Record<string, FinishClass>>

/** OpenAI, "The chat completion object"; Azure, xAI, Groq, Fireworks, Perplexity, Doubao and DeepSeek document the same. */
const openAIReasons: FinishReasons = {
  stop: 'finished',
  tool_calls: 'finished',
  function_call: 'finished',
  length: 'length',
  content_filter: 'filtered',
}

/** Anthropic, "Handling stop reasons", and "Compaction". */
export const anthropicReasons: FinishReasons = {
  end_turn: 'finished',
  stop_sequence: 'finished',
  tool_use: 'finished',
  pause_turn: 'finished',
  compaction: 'finished',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'filtered',
}

/** Amazon Bedrock, "Converse", `stopReason`. */
export const bedrockReasons: FinishReasons = {
  end_turn: 'finished',
  stop_sequence: 'finished',
  tool_use: 'finished',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  guardrail_intervened: 'filtered',
  content_filtered: 'filtered',
  malformed_model_output: 'failed',
  malformed_tool_use: 'failed',
}

/** Cohere, "Chat", `finish_reason`; with `error_`, those of version 1. */
export const cohereReasons: FinishReasons = {
  complete: 'finished',
  stop_sequence: 'finished',
  tool_call: 'finished',
  max_tokens: 'length',
  error_limit: 'length',
  error_toxic: 'filtered',
  error: 'failed',
  timeout: 'failed',
  user_cancel: 'failed',
}

/** Google, "GenerateContentResponse", `FinishReason`, of the Gemini API and of Vertex AI. `OTHER` says nothing. */
export const geminiReasons: FinishReasons = {
  stop: 'finished',
  max_tokens: 'length',
  safety: 'filtered',
  recitation: 'filtered',
  language: 'filtered',
  blocklist: 'filtered',
  prohibited_content: 'filtered',
  spii: 'filtered',
  model_armor: 'filtered',
  image_safety: 'filtered',
  image_prohibited_content: 'filtered',
  image_recitation: 'filtered',
  malformed_function_call: 'failed',
  malformed_response: 'failed',
  unexpected_tool_call: 'failed',
  too_many_tool_calls: 'failed',
  missing_thought_signature: 'failed',
  no_image: 'failed',
}

/** OpenAI, "The response object": `status`, or the `reason` of `incomplete_details`. */
export const responsesReasons: FinishReasons = {
  completed: 'finished',
  max_output_tokens: 'length',
  content_filter: 'filtered',
  failed: 'failed',
  cancelled: 'failed',
}

/** What providers with the OpenAI format have in addition. */
const additionalReasons: Readonly<Record<string, FinishReasons>> = {
  // DeepSeek, "Create chat completion".
  deepseek: { insufficient_system_resource: 'failed' },
  // Baidu Qianfan, "Chat completions".
  ernie: { normal: 'finished' },
  // Tencent, "ChatCompletions".
  hunyuan: { sensitive: 'filtered' },
  // Mistral, "Chat", `FinishReason`.
  mistral: { model_length: 'length', error: 'failed' },
  // Ollama, "Generate a chat message", `done_reason`.
  ollama: { load: 'finished', unload: 'finished' },
  // OpenRouter, "Errors and debugging".
  openrouter: { error: 'failed' },
  // SiliconFlow, "Chat completions".
  siliconflow: { eos: 'finished' },
  // Together, "Chat completions".
  together: { eos: 'finished' },
  // vLLM, `vllm/v1/engine/__init__.py`; SGLang and others that are run in its place have the same.
  vllm: { abort: 'failed', error: 'failed' },
  // xAI, "Chat completions".
  xai: { end_turn: 'finished' },
  // Zhipu, "Chat completions".
  zhipu: { sensitive: 'filtered', network_error: 'failed', model_context_window_exceeded: 'length' },
}

/** Gateways pass on the reasons of any provider, and servers of one's own are not known. */
const everyReason: FinishReasons = Object.assign(
  {},
  responsesReasons,
  cohereReasons,
  geminiReasons,
  bedrockReasons,
  anthropicReasons,
  ...Object.values(additionalReasons),
) as FinishReasons
const anyProvider = new Set(['openai-compatible', 'vllm', 'ollama'])

/** The class of a provider's own reason; `null`: it is unknown. */
export function classOf(reasons: FinishReasons, reason: string): FinishClass | null {
  return lookup(reasons, reason.toLowerCase()) ?? null
}

/** The class of a reason in a response in the OpenAI format, which that of every provider is translated into. */
export function finishClassOf(provider: string, reason: string): FinishClass | null {
  const own = lookup(additionalReasons, provider) ?? {}
  const known = classOf(openAIReasons, reason) ?? classOf(own, reason)
  return known ?? (anyProvider.has(provider) ? classOf(everyReason, reason) : null)
}
