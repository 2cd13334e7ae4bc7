/**
 * Encodes responses in the OpenAI format for providers with their own API format: a non-streaming response, or the
 * chunks of a stream. Next to the OpenAI finish reason they have the provider's own (`native_finish_reason`).
 */
import { newId } from '../lib/ids.ts'
import { getObject, getObjects, omitUndefined, type Json } from './json-fields.ts'
import { usesFunctions } from './legacy-functions.ts'
import type { UpstreamCall, Chunk } from './provider.ts'
import type { TokenUsage } from './usage.ts'

/** The finish reasons that OpenAI's clients know. Others are mapped to one of these. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'function_call' | 'content_filter'

export interface Finish {
  readonly reason: FinishReason
  readonly native: string
}

/** A result of a non-streaming response. */
export interface ChatResult {
  readonly text: string
  readonly reasoning: string
  readonly reasoningDetails: readonly Json[]
  readonly toolCalls: readonly Json[]
  /** The provider's refusal message. */
  readonly refusal?: string | undefined
  readonly finish: Finish
}

/** A tool call of a message. */
export function encodeToolCall(id: string, name: string, input: unknown): Json {
  const text = typeof input === 'string' ? input : JSON.stringify(input ?? {})
  return { id, type: 'function', function: { name, arguments: text === '' || text === 'null' ? '{}' : text } }
}

/** Usage in the OpenAI format: cached tokens are part of the prompt, reasoning is part of the completion. */
export function usageJson(usage: TokenUsage): Json {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: omitUndefined({
      cached_tokens: usage.cachedInput,
      cache_write_tokens: usage.cacheWrite,
      cache_write_1h_tokens: usage.cacheWrite1h,
    }),
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
    ...(usage.searches ? { server_tool_use: { web_search_requests: usage.searches } } : {}),
  }
}

/** `calls`: of a message or a delta. A `function_call` is the first of them. */
function encodeCalls(calls: readonly Json[], asFunction: boolean): Json {
  if (!asFunction) return { tool_calls: calls }
  return { function_call: calls[0] && getObject(calls[0], 'function') }
}

function encodeReason({ reason }: Finish, asFunction: boolean): FinishReason {
  return asFunction && reason === 'tool_calls' ? 'function_call' : reason
}

function encodeMessage(result: ChatResult, asFunction: boolean): Json {
  return omitUndefined({
    role: 'assistant',
    content: result.text === '' && result.toolCalls.length > 0 ? null : result.text,
    refusal: result.refusal ?? null,
    reasoning_content: result.reasoning === '' ? undefined : result.reasoning,
    reasoning_details: result.reasoningDetails.length === 0 ? undefined : result.reasoningDetails,
    ...(result.toolCalls.length === 0 ? {} : encodeCalls(result.toolCalls, asFunction)),
  })
}

/** A non-streaming response. Without the provider's `id` and `model`, it gets a new id and the requested model. */
export function chatCompletion(
  identity: { readonly id: string | undefined; readonly model: string | undefined },
  results: readonly ChatResult[],
  usage: TokenUsage | null,
  call: UpstreamCall,
): Json {
  const asFunction = usesFunctions(call.body.parsed())
  return {
    id: identity.id ?? newId('chatcmpl'),
    object: 'chat.completion',
    created: Math.floor(call.nowMs / 1000),
    model: identity.model ?? call.model,
    choices: results.map((result, index) => ({
      index,
      message: encodeMessage(result, asFunction),
      logprobs: null,
      finish_reason: encodeReason(result.finish, asFunction),
      native_finish_reason: result.finish.native,
    })),
    ...(usage === null ? {} : { usage: usageJson(usage) }),
  }
}

/** Creates the chunks of a stream, each result's role first. */
export class ChunkWriter {
  readonly #created: number
  readonly #started = new Set<number>()
  /** A caller who asked for the usage finds `usage` in every chunk (OpenAI, "stream_options"). */
  readonly #noUsage: { readonly usage?: null }
  /** The caller gets `function_call` instead of `tool_calls`. */
  readonly #asFunction: boolean
  #id: string | undefined
  #model: string

  constructor(call: UpstreamCall) {
    this.#created = Math.floor(call.nowMs / 1000)
    this.#model = call.model
    const request = call.body.parsed()
    const options = getObject(request, 'stream_options')
    this.#asFunction = usesFunctions(request)
    this.#noUsage = options?.['include_usage'] === true ? { usage: null } : {}
  }

  /** Sets the provider's id and model of the response, as soon as they are known. */
  setIdentity(id: string | undefined, model: string | undefined): void {
    this.#id ??= id
    if (model !== undefined) this.#model = model
  }

  /** Starts a result with its role, once. */
  start(index = 0): Chunk[] {
    if (this.#started.has(index)) return []
    this.#started.add(index)
    return [this.#chunk([streamChoice(index, { role: 'assistant', content: '' }, null)])]
  }

  delta(delta: Json, index = 0): Chunk[] {
    const chunks = this.start(index)
    const calls = this.#asFunction ? getObjects(delta, 'tool_calls') : []
    if (calls.length === 0) return [...chunks, this.#chunk([streamChoice(index, delta, null)])]
    // `function_call` has no index: pieces of a second call would be appended to the first one's arguments.
    const first = calls.filter((each) => each['index'] === 0)
    if (first.length > 0) chunks.push(this.#chunk([streamChoice(index, encodeCalls(first, true), null)]))
    return chunks
  }

  text(text: string, index = 0): Chunk[] {
    return text === '' ? [] : this.delta({ content: text }, index)
  }

  reasoning(text: string, index = 0): Chunk[] {
    return text === '' ? [] : this.delta({ reasoning_content: text }, index)
  }

  finish(finish: Finish, index = 0): Chunk[] {
    const reason = encodeReason(finish, this.#asFunction)
    return [...this.start(index), this.#chunk([streamChoice(index, {}, { ...finish, reason })])]
  }

  usage(usage: TokenUsage): Chunk[] {
    return [{ ...this.#chunk([]), usage: usageJson(usage) }]
  }

  #chunk(choices: readonly Json[]): Chunk {
    this.#id ??= newId('chatcmpl')
    return {
      id: this.#id,
      object: 'chat.completion.chunk',
      created: this.#created,
      model: this.#model,
      choices,
      ...this.#noUsage,
    }
  }
}

function streamChoice(index: number, delta: Json, finish: Finish | null): Json {
  if (finish === null) return { index, delta, logprobs: null, finish_reason: null }
  const { reason, native } = finish
  return { index, delta, logprobs: null, finish_reason: reason, native_finish_reason: native }
}

/** An error of the provider inside a stream, with the HTTP status that it corresponds to. */
export function errorChunk(message: string, type: string, status: number): Chunk {
  return { error: { message, type, code: type, status_code: status } }
}
