/**
 * The sampling parameters that a Claude model accepts, wherever it is served. Models up to 4.6 take `temperature` or
 * `top_p`; since Opus 4.1 both together are a 400 (Anthropic, "Messages"). Later models take none (Anthropic,
 * "Migrating to Claude Opus 4.7"), nor does any model while it thinks ("Extended thinking", feature compatibility).
 */
import type { ParsedChatRequest } from '../chat-request.ts'
import type { Json } from '../json-fields.ts'

const samplingModels = /claude-(?:instant|v?2|3|(?:opus|sonnet|haiku)-4(?:-[0-6])?(?!\d|-[7-9](?!\d)))/

export interface Sampling {
  readonly temperature?: number | undefined
  readonly topP?: number | undefined
  readonly topK?: number | undefined
}

/** `thinking`: the value that is sent. A model that is not Claude's gets what the caller asked for. */
export function claudeSampling(
  { temperature, topP, topK }: ParsedChatRequest,
  { model, thinking }: { readonly model: string; readonly thinking: Json | undefined },
): Sampling {
  const isThinking = thinking !== undefined && thinking['type'] !== 'disabled'
  if (isThinking || (model.includes('claude-') && !samplingModels.test(model))) return {}
  // The maximum is 2 in the OpenAI format, 1 in Anthropic's.
  return temperature === undefined ? { topP, topK } : { temperature: Math.min(temperature, 1), topK }
}
