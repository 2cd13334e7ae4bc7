/** Cohere's answers (v2 chat) in the common format. Its plan for using tools is told as thinking. */
import {
  ChunkWriter,
  completion,
  errorChunk,
  toolCall,
  type Finish,
  type FinishReason,
} from './chat-response.ts'
import {
  countIn,
  hasCount,
  numberIn,
  objectIn,
  objectsIn,
  textIn,
  type Json,
  entryOf,
} from './json-fields.ts'
import type { Call, Chunk, StreamEvent, StreamTranslation } from './provider.ts'
import { isObject, type TokenUsage } from './usage.ts'

const reasons: Readonly<Record<string, FinishReason>> = {
  MAX_TOKENS: 'length',
  TOOL_CALL: 'tool_calls',
  ERROR_TOXIC: 'content_filter',
}

function finishOf(native: string): Finish {
  return { reason: entryOf(reasons, native) ?? 'stop', native }
}

/** What is billed, not what the model read: Cohere's own instructions are part of `tokens` and cost nothing. */
function usageOf(told: Json | undefined): TokenUsage | null {
  const kinds = told ? [objectIn(told, 'billed_units'), objectIn(told, 'tokens')] : []
  const units = kinds.find((each) => each && hasCount(each, 'input_tokens', 'output_tokens'))
  if (!units) return null
  const input = countIn(units, 'input_tokens')
  return { input, cachedInput: 0, cacheWrite: 0, output: countIn(units, 'output_tokens'), reasoning: 0 }
}

/** Cohere's word for an answer that it broke off by itself. */
function errorIn(delta: Json, native: string): Chunk | undefined {
  if (native !== 'ERROR' && native !== 'TIMEOUT') return undefined
  const words = textIn(delta, 'error') ?? 'The provider broke off its answer.'
  return errorChunk(words, native, native === 'TIMEOUT' ? 504 : 500)
}

/** A whole answer. Throws for a body that is none. */
export function cohereWhole(body: unknown, call: Call): Json {
  const message = isObject(body) ? objectIn(body, 'message') : undefined
  if (!isObject(body) || !message) throw new Error('This is no answer of Cohere.')
  const native = textIn(body, 'finish_reason') ?? 'COMPLETE'
  if (errorIn(body, native)) throw new Error('Cohere broke off its answer.')
  const content = objectsIn(message, 'content')
  const thoughts = content.map((part) => textIn(part, 'thinking') ?? '').join('')
  const result = {
    text: content.map((part) => textIn(part, 'text') ?? '').join(''),
    reasoning: thoughts + (textIn(message, 'tool_plan') ?? ''),
    reasoningDetails: [],
    toolCalls: objectsIn(message, 'tool_calls').map((each) => {
      const called = objectIn(each, 'function') ?? {}
      return toolCall(textIn(each, 'id') ?? '', textIn(called, 'name') ?? '', called['arguments'])
    }),
    finish: finishOf(native),
  }
  const told = { id: textIn(body, 'id'), model: undefined }
  return completion(told, [result], usageOf(objectIn(body, 'usage')), call)
}

export class CohereStream implements StreamTranslation {
  readonly #out: ChunkWriter
  /** By Cohere's index: the place among the calls, and what its arguments are so far. */
  readonly #calls = new Map<number, { readonly place: number; text: string }>()
  isOver = false

  constructor(call: Call) {
    this.#out = new ChunkWriter(call)
  }

  take({ text }: StreamEvent): readonly Chunk[] {
    if (text.trim() === '[DONE]') return []
    const event: unknown = JSON.parse(text)
    if (!isObject(event) || typeof event['type'] !== 'string') throw new Error('This is no event of Cohere.')
    const delta = objectIn(event, 'delta') ?? {}
    const message = objectIn(delta, 'message') ?? {}
    const index = numberIn(event, 'index') ?? 0
    switch (event['type']) {
      case 'message-start':
        this.#out.identify(textIn(event, 'id'), undefined)
        return this.#out.begin()
      case 'content-start':
      case 'content-delta': {
        const content = objectIn(message, 'content') ?? {}
        const thoughts = this.#out.reasoning(textIn(content, 'thinking') ?? '')
        return [...thoughts, ...this.#out.text(textIn(content, 'text') ?? '')]
      }
      case 'tool-plan-delta':
        return this.#out.reasoning(textIn(message, 'tool_plan') ?? '')
      case 'tool-call-start':
        return this.#onCall(index, objectIn(message, 'tool_calls') ?? {})
      case 'tool-call-delta':
        return this.#onArguments(index, objectIn(message, 'tool_calls') ?? {})
      case 'tool-call-end':
        return this.#onCallEnd(index)
      case 'message-end':
        return this.#onEnd(delta)
      default:
        return []
    }
  }

  end(): readonly Chunk[] {
    return []
  }

  #onCall(index: number, call: Json): Chunk[] {
    const called = objectIn(call, 'function') ?? {}
    const place = this.#calls.size
    const text = textIn(called, 'arguments') ?? ''
    this.#calls.set(index, { place, text })
    const named = { name: textIn(called, 'name') ?? '', arguments: text }
    const begun = { index: place, id: textIn(call, 'id') ?? '', type: 'function', function: named }
    return this.#out.delta({ tool_calls: [begun] })
  }

  #onArguments(index: number, call: Json): Chunk[] {
    return this.#write(index, textIn(objectIn(call, 'function') ?? {}, 'arguments') ?? '')
  }

  /** Arguments are JSON, also where there are none. */
  #onCallEnd(index: number): Chunk[] {
    return this.#calls.get(index)?.text === '' ? this.#write(index, '{}') : []
  }

  #write(index: number, text: string): Chunk[] {
    const call = this.#calls.get(index)
    if (!call || text === '') return []
    call.text += text
    return this.#out.delta({ tool_calls: [{ index: call.place, function: { arguments: text } }] })
  }

  #onEnd(delta: Json): Chunk[] {
    const native = textIn(delta, 'finish_reason') ?? 'COMPLETE'
    this.isOver = true
    const error = errorIn(delta, native)
    if (error) return [error]
    const usage = usageOf(objectIn(delta, 'usage'))
    return [...this.#out.finish(finishOf(native)), ...(usage ? this.#out.usage(usage) : [])]
  }
}
