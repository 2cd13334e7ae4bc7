/** Anthropic's answers (Messages API) in the common format: whole, and event by event. */
import {
  ChunkWriter,
  completion,
  errorChunk,
  toolCall,
  type Finish,
  type FinishReason,
} from '../chat-response.ts'
import { anthropicUsage } from '../anthropic-usage.ts'
import { objectIn, objectsIn, numberIn, textIn, type Json, entryOf } from '../json-fields.ts'
import type { Call, Chunk, StreamEvent, StreamTranslation } from '../provider.ts'
import { anthropicFormat, encryptedDetail, textDetail } from '../reasoning-details.ts'
import { isObject } from '../usage.ts'

const reasons: Readonly<Record<string, FinishReason>> = {
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
}

export function finishOf(native: string): Finish {
  return { reason: entryOf(reasons, native) ?? 'stop', native }
}

/** Why it did not answer, where it says so. */
function refusalIn(message: Json): string | undefined {
  const details = objectIn(message, 'stop_details')
  return details?.['type'] === 'refusal' ? textIn(details, 'explanation') : undefined
}

/** A whole answer. Throws for a body that is none. */
export function anthropicWhole(body: unknown, call: Call): Json {
  if (!isObject(body) || !Array.isArray(body['content'])) throw new Error('This is no message of Anthropic.')
  let text = ''
  let reasoning = ''
  const reasoningDetails: Json[] = []
  const toolCalls: Json[] = []
  for (const [index, block] of objectsIn(body, 'content').entries()) {
    const about = { format: anthropicFormat, index }
    if (block['type'] === 'text') text += textIn(block, 'text') ?? ''
    else if (block['type'] === 'thinking') {
      const thinking = textIn(block, 'thinking') ?? ''
      reasoning += thinking
      reasoningDetails.push(textDetail(thinking, { ...about, signature: textIn(block, 'signature') }))
    } else if (block['type'] === 'redacted_thinking') {
      reasoningDetails.push(encryptedDetail(textIn(block, 'data') ?? '', about))
    } else if (block['type'] === 'tool_use') {
      toolCalls.push(toolCall(textIn(block, 'id') ?? '', textIn(block, 'name') ?? '', block['input']))
    }
  }
  const finish = finishOf(textIn(body, 'stop_reason') ?? 'end_turn')
  const result = { text, reasoning, reasoningDetails, toolCalls, finish, refusal: refusalIn(body) }
  const told = { id: textIn(body, 'id'), model: textIn(body, 'model') }
  return completion(told, [result], anthropicUsage(objectIn(body, 'usage')), call)
}

/** The HTTP status that an error inside a stream amounts to (Anthropic, "Errors"). */
const statuses: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
}

/**
 * Calls of tools that Anthropic itself carries out. Only callers of its own format can ask for them; here they are told
 * so that what the model writes is seen and counted as it comes.
 */
const serverTools = new Set(['server_tool_use', 'mcp_tool_use'])

/** A block that has begun and not ended. */
interface OpenBlock {
  readonly type: string
  /** Of a tool's use: its place among the calls. */
  readonly call: number
  text: string
  signature: string | undefined
}

export class AnthropicStream implements StreamTranslation {
  readonly #out: ChunkWriter
  readonly #blocks = new Map<number, OpenBlock>()
  #messageId: string | undefined
  #calls = 0
  /** The counts told so far; what is told later goes over what was told before. */
  #usage: Json | undefined
  #isFinished = false
  isOver = false

  constructor(call: Call) {
    this.#out = new ChunkWriter(call)
  }

  take({ text }: StreamEvent): readonly Chunk[] {
    const event: unknown = JSON.parse(text)
    if (!isObject(event) || typeof event['type'] !== 'string')
      throw new Error('This is no event of Anthropic.')
    switch (event['type']) {
      case 'message_start':
        return this.#onMessage(objectIn(event, 'message') ?? {})
      case 'content_block_start':
        return this.#onBlock(numberIn(event, 'index') ?? 0, objectIn(event, 'content_block') ?? {})
      case 'content_block_delta':
        return this.#onDelta(numberIn(event, 'index') ?? 0, objectIn(event, 'delta') ?? {})
      case 'content_block_stop':
        return this.#onBlockEnd(numberIn(event, 'index') ?? 0)
      case 'message_delta':
        return this.#onMessageDelta(event)
      case 'message_stop':
        this.isOver = true
        return []
      case 'error':
        return [errorOf(objectIn(event, 'error') ?? {})]
      default:
        return []
    }
  }

  end(): readonly Chunk[] {
    const usage = this.#isFinished ? anthropicUsage(this.#usage) : null
    this.#usage = undefined
    return usage ? this.#out.usage(usage) : []
  }

  #onMessage(message: Json): Chunk[] {
    const id = textIn(message, 'id')
    if (this.#messageId !== undefined && id !== this.#messageId) {
      throw new Error('Another message began before the first had ended.')
    }
    this.#messageId = id
    this.#usage = objectIn(message, 'usage')
    this.#out.identify(id, textIn(message, 'model'))
    return this.#out.begin()
  }

  #onBlock(index: number, block: Json): Chunk[] {
    const type = textIn(block, 'type') ?? ''
    const signature = textIn(block, 'signature') || undefined
    const open = { type, call: type === 'tool_use' ? this.#calls++ : 0, text: '', signature }
    this.#blocks.set(index, open)
    if (type === 'text') return this.#out.text(textIn(block, 'text') ?? '')
    if (type === 'thinking') {
      open.text = textIn(block, 'thinking') ?? ''
      return this.#out.reasoning(open.text)
    }
    if (type === 'redacted_thinking') {
      const detail = encryptedDetail(textIn(block, 'data') ?? '', { format: anthropicFormat, index })
      return this.#out.delta({ reasoning_details: [detail] })
    }
    if (serverTools.has(type)) {
      return this.#out.delta({ server_tool_calls: [{ name: textIn(block, 'name') ?? '' }] })
    }
    if (type !== 'tool_use') return []
    const called = { name: textIn(block, 'name') ?? '', arguments: '' }
    const begun = { index: open.call, id: textIn(block, 'id') ?? '', type: 'function', function: called }
    return this.#out.delta({ tool_calls: [begun] })
  }

  #onDelta(index: number, delta: Json): Chunk[] {
    const open = this.#blocks.get(index)
    switch (delta['type']) {
      case 'text_delta':
        return this.#out.text(textIn(delta, 'text') ?? '')
      case 'thinking_delta': {
        const text = textIn(delta, 'thinking') ?? ''
        if (open) open.text += text
        return this.#out.reasoning(text)
      }
      case 'signature_delta':
        if (open) open.signature = (open.signature ?? '') + (textIn(delta, 'signature') ?? '')
        return []
      case 'input_json_delta':
        return open ? this.#onInput(open, textIn(delta, 'partial_json') ?? '') : []
      default:
        return []
    }
  }

  #onInput(open: OpenBlock, text: string): Chunk[] {
    if (text === '') return []
    if (serverTools.has(open.type)) return this.#out.delta({ server_tool_calls: [{ arguments: text }] })
    if (open.type !== 'tool_use') return []
    open.text += text
    return this.#out.delta({ tool_calls: [{ index: open.call, function: { arguments: text } }] })
  }

  #onBlockEnd(index: number): Chunk[] {
    const open = this.#blocks.get(index)
    this.#blocks.delete(index)
    if (open?.type === 'thinking') {
      const { text, signature } = open
      const detail = textDetail(text, { signature, format: anthropicFormat, index })
      return this.#out.delta({ reasoning_details: [detail] })
    }
    // Arguments are JSON, also where there are none.
    return open?.type === 'tool_use' && open.text === '' ? this.#onInput(open, '{}') : []
  }

  #onMessageDelta(event: Json): Chunk[] {
    this.#usage = { ...this.#usage, ...objectIn(event, 'usage') }
    const delta = objectIn(event, 'delta') ?? {}
    const native = textIn(delta, 'stop_reason')
    if (native === undefined || this.#isFinished) return []
    this.#isFinished = true
    const refusal = refusalIn(delta)
    const told = refusal === undefined ? [] : this.#out.delta({ refusal })
    return [...told, ...this.#out.finish(finishOf(native))]
  }
}

function errorOf(error: Json): Chunk {
  const type = textIn(error, 'type') ?? 'api_error'
  return errorChunk(textIn(error, 'message') ?? type, type, entryOf(statuses, type) ?? 500)
}
