/**
 * Answers in the common format, written for a dialect of its own: a whole one, or a stream's chunks. Beside the unified
 * finish reason stands the provider's own word (`native_finish_reason`).
 */
import { newId } from '../lib/ids.ts'
import { present, type Json } from './json-fields.ts'
import type { Call, Chunk } from './provider.ts'
import type { TokenUsage } from './usage.ts'

/** What OpenAI's clients know; any other of a provider's words is told as one of these. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter'

export interface Finish {
  readonly reason: FinishReason
  readonly native: string
}

/** One result of a whole answer. */
export interface Result {
  readonly text: string
  readonly reasoning: string
  readonly reasoningDetails: readonly Json[]
  readonly toolCalls: readonly Json[]
  /** The provider's words for not answering. */
  readonly refusal?: string | undefined
  readonly finish: Finish
}

/** One tool call as a message has it. */
export function toolCall(id: string, name: string, input: unknown): Json {
  const text = typeof input === 'string' ? input : JSON.stringify(input ?? {})
  return { id, type: 'function', function: { name, arguments: text === '' || text === 'null' ? '{}' : text } }
}

/** Usage as the common format writes it: cached tokens are part of the prompt, reasoning is part of the completion. */
export function invoice(usage: TokenUsage): Json {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: present({
      cached_tokens: usage.cachedInput,
      cache_write_tokens: usage.cacheWrite,
      cache_write_1h_tokens: usage.cacheWrite1h,
    }),
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
    ...(usage.searches ? { server_tool_use: { web_search_requests: usage.searches } } : {}),
  }
}

function messageOf(result: Result): Json {
  return present({
    role: 'assistant',
    content: result.text === '' && result.toolCalls.length > 0 ? null : result.text,
    refusal: result.refusal ?? null,
    reasoning_content: result.reasoning === '' ? undefined : result.reasoning,
    reasoning_details: result.reasoningDetails.length === 0 ? undefined : result.reasoningDetails,
    tool_calls: result.toolCalls.length === 0 ? undefined : result.toolCalls,
  })
}

/** A whole answer. `id` and `model` as the provider tells them; without, one is made, and the asked model told. */
export function completion(
  told: { readonly id: string | undefined; readonly model: string | undefined },
  results: readonly Result[],
  usage: TokenUsage | null,
  call: Call,
): Json {
  return {
    id: told.id ?? newId('chatcmpl'),
    object: 'chat.completion',
    created: Math.floor(call.nowMs / 1000),
    model: told.model ?? call.model,
    choices: results.map((result, index) => ({
      index,
      message: messageOf(result),
      logprobs: null,
      finish_reason: result.finish.reason,
      native_finish_reason: result.finish.native,
    })),
    ...(usage === null ? {} : { usage: invoice(usage) }),
  }
}

/** Writes the chunks of one stream; the role goes out before the first of each result. */
export class ChunkWriter {
  readonly #created: number
  readonly #begun = new Set<number>()
  #id: string | undefined
  #model: string

  constructor(call: Call) {
    this.#created = Math.floor(call.nowMs / 1000)
    this.#model = call.model
  }

  /** What the provider calls this answer, as soon as it is known. */
  identify(id: string | undefined, model: string | undefined): void {
    this.#id ??= id
    if (model !== undefined) this.#model = model
  }

  /** Begins a result with its role, once. */
  begin(index = 0): Chunk[] {
    if (this.#begun.has(index)) return []
    this.#begun.add(index)
    return [this.#chunk([choice(index, { role: 'assistant', content: '' }, null)])]
  }

  delta(delta: Json, index = 0): Chunk[] {
    const chunks = this.begin(index)
    chunks.push(this.#chunk([choice(index, delta, null)]))
    return chunks
  }

  text(text: string, index = 0): Chunk[] {
    return text === '' ? [] : this.delta({ content: text }, index)
  }

  reasoning(text: string, index = 0): Chunk[] {
    return text === '' ? [] : this.delta({ reasoning_content: text }, index)
  }

  finish(finish: Finish, index = 0): Chunk[] {
    return [...this.begin(index), this.#chunk([choice(index, {}, finish)])]
  }

  usage(usage: TokenUsage): Chunk[] {
    return [{ ...this.#chunk([]), usage: invoice(usage) }]
  }

  #chunk(choices: readonly Json[]): Chunk {
    this.#id ??= newId('chatcmpl')
    return {
      id: this.#id,
      object: 'chat.completion.chunk',
      created: this.#created,
      model: this.#model,
      choices,
    }
  }
}

function choice(index: number, delta: Json, finish: Finish | null): Json {
  if (finish === null) return { index, delta, logprobs: null, finish_reason: null }
  const { reason, native } = finish
  return { index, delta, logprobs: null, finish_reason: reason, native_finish_reason: native }
}

/** An error that a provider told in the middle of a stream, with the HTTP status that it amounts to. */
export function errorChunk(message: string, type: string, status: number): Chunk {
  return { error: { message, type, code: type, status_code: status } }
}
