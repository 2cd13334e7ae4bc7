/** Translates Cohere's responses and streams (v2 chat) into the OpenAI format. A tool plan becomes reasoning. */
import { parseBoundedJson } from '../../lib/json/bounded-json.ts'
import {
  ChunkWriter,
  chatCompletion,
  errorChunk,
  encodeToolCall,
  type Finish,
  type FinishReason,
} from '../chat-response.ts'
import {
  getCount,
  hasAnyCount,
  getNumber,
  getObject,
  getObjects,
  getString,
  type Json,
  lookup,
} from '../json-fields.ts'
import type { UpstreamCall, Chunk, StreamEvent, StreamTranslation } from '../provider.ts'
import { isObject, type TokenUsage } from '../usage.ts'

const reasons: Readonly<Record<string, FinishReason>> = {
  MAX_TOKENS: 'length',
  TOOL_CALL: 'tool_calls',
  ERROR_TOXIC: 'content_filter',
}

function mapFinish(native: string): Finish {
  return { reason: lookup(reasons, native) ?? 'stop', native }
}

/** The billed units, not `tokens`, which include Cohere's own instructions. */
function parseCohereUsage(usage: Json | undefined): TokenUsage | null {
  const kinds = usage ? [getObject(usage, 'billed_units'), getObject(usage, 'tokens')] : []
  const units = kinds.find((each) => each && hasAnyCount(each, 'input_tokens', 'output_tokens'))
  if (!units) return null
  const input = getCount(units, 'input_tokens')
  return { input, cachedInput: 0, cacheWrite: 0, output: getCount(units, 'output_tokens'), reasoning: 0 }
}

/** The error of a response that Cohere itself ended early. */
function toErrorChunk(delta: Json, native: string): Chunk | undefined {
  if (native !== 'ERROR' && native !== 'TIMEOUT') return undefined
  const message = getString(delta, 'error') ?? 'The provider ended its response early.'
  return errorChunk(message, native, native === 'TIMEOUT' ? 504 : 500)
}

/** Translates a non-streaming response. Throws for an invalid body. */
export function translateCohereResponse(body: unknown, call: UpstreamCall): Json {
  const message = isObject(body) ? getObject(body, 'message') : undefined
  if (!isObject(body) || !message) throw new Error('Not a Cohere response.')
  const native = getString(body, 'finish_reason') ?? 'COMPLETE'
  if (toErrorChunk(body, native)) throw new Error('Cohere ended its response early.')
  const content = getObjects(message, 'content')
  const thoughts = content.map((part) => getString(part, 'thinking') ?? '').join('')
  const result = {
    text: content.map((part) => getString(part, 'text') ?? '').join(''),
    reasoning: thoughts + (getString(message, 'tool_plan') ?? ''),
    reasoningDetails: [],
    toolCalls: getObjects(message, 'tool_calls').map((each) => {
      const called = getObject(each, 'function') ?? {}
      return encodeToolCall(getString(each, 'id') ?? '', getString(called, 'name') ?? '', called['arguments'])
    }),
    finish: mapFinish(native),
  }
  const identity = { id: getString(body, 'id'), model: undefined }
  return chatCompletion(identity, [result], parseCohereUsage(getObject(body, 'usage')), call)
}

export class CohereStreamTranslation implements StreamTranslation {
  readonly #writer: ChunkWriter
  /** By Cohere's index: the position of the call, and its arguments so far. */
  readonly #calls = new Map<number, { readonly position: number; text: string }>()
  isComplete = false

  constructor(call: UpstreamCall) {
    this.#writer = new ChunkWriter(call)
  }

  translate({ text }: StreamEvent): readonly Chunk[] {
    if (text.trim() === '[DONE]') return []
    const event = parseBoundedJson(text)
    if (!isObject(event) || typeof event['type'] !== 'string') throw new Error('Not a Cohere event.')
    const delta = getObject(event, 'delta') ?? {}
    const message = getObject(delta, 'message') ?? {}
    const index = getNumber(event, 'index') ?? 0
    switch (event['type']) {
      case 'message-start':
        this.#writer.setIdentity(getString(event, 'id'), undefined)
        return this.#writer.start()
      case 'content-start':
      case 'content-delta': {
        const content = getObject(message, 'content') ?? {}
        const thoughts = this.#writer.reasoning(getString(content, 'thinking') ?? '')
        return [...thoughts, ...this.#writer.text(getString(content, 'text') ?? '')]
      }
      case 'tool-plan-delta':
        return this.#writer.reasoning(getString(message, 'tool_plan') ?? '')
      case 'tool-call-start':
        return this.#onCall(index, getObject(message, 'tool_calls') ?? {})
      case 'tool-call-delta':
        return this.#onArguments(index, getObject(message, 'tool_calls') ?? {})
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
    const called = getObject(call, 'function') ?? {}
    const position = this.#calls.size
    const text = getString(called, 'arguments') ?? ''
    this.#calls.set(index, { position, text })
    const named = { name: getString(called, 'name') ?? '', arguments: text }
    const started = { index: position, id: getString(call, 'id') ?? '', type: 'function', function: named }
    return this.#writer.delta({ tool_calls: [started] })
  }

  #onArguments(index: number, call: Json): Chunk[] {
    return this.#write(index, getString(getObject(call, 'function') ?? {}, 'arguments') ?? '')
  }

  /** Arguments must be JSON, even if there are none. */
  #onCallEnd(index: number): Chunk[] {
    return this.#calls.get(index)?.text === '' ? this.#write(index, '{}') : []
  }

  #write(index: number, text: string): Chunk[] {
    const call = this.#calls.get(index)
    if (!call || text === '') return []
    call.text += text
    return this.#writer.delta({ tool_calls: [{ index: call.position, function: { arguments: text } }] })
  }

  #onEnd(delta: Json): Chunk[] {
    const native = getString(delta, 'finish_reason') ?? 'COMPLETE'
    this.isComplete = true
    const error = toErrorChunk(delta, native)
    if (error) return [error]
    const usage = parseCohereUsage(getObject(delta, 'usage'))
    return [...this.#writer.finish(mapFinish(native)), ...(usage ? this.#writer.usage(usage) : [])]
  }
}
