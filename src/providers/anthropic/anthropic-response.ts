/** Translates Anthropic's responses and streams (Messages API) into the OpenAI format. */
import { parseBoundedJson } from '../../lib/json/bounded-json.ts'
import {
  ChunkWriter,
  chatCompletion,
  errorChunk,
  encodeToolCall,
  type Finish,
  type FinishReason,
} from '../chat-response.ts'
import { parseAnthropicUsage } from './anthropic-usage.ts'
import { getObject, getObjects, getNumber, getString, type Json, lookup } from '../json-fields.ts'
import type { UpstreamCall, Chunk, StreamEvent, StreamTranslation } from '../provider.ts'
import { anthropicFormat, encryptedDetail, textDetail } from '../reasoning-details.ts'
import { isObject } from '../usage.ts'

const reasons: Readonly<Record<string, FinishReason>> = {
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
}

export function mapFinish(native: string): Finish {
  return { reason: lookup(reasons, native) ?? 'stop', native }
}

/** The explanation of a refusal, if any. */
function refusalText(message: Json): string | undefined {
  const details = getObject(message, 'stop_details')
  return details?.['type'] === 'refusal' ? getString(details, 'explanation') : undefined
}

/** Translates a non-streaming response. Throws for an invalid body. */
export function translateAnthropicResponse(body: unknown, call: UpstreamCall): Json {
  if (!isObject(body) || !Array.isArray(body['content'])) throw new Error('Not an Anthropic message.')
  let text = ''
  let reasoning = ''
  const reasoningDetails: Json[] = []
  const toolCalls: Json[] = []
  for (const [index, block] of getObjects(body, 'content').entries()) {
    const about = { format: anthropicFormat, index }
    if (block['type'] === 'text') text += getString(block, 'text') ?? ''
    else if (block['type'] === 'thinking') {
      const thinking = getString(block, 'thinking') ?? ''
      reasoning += thinking
      reasoningDetails.push(textDetail(thinking, { ...about, signature: getString(block, 'signature') }))
    } else if (block['type'] === 'redacted_thinking') {
      reasoningDetails.push(encryptedDetail(getString(block, 'data') ?? '', about))
    } else if (block['type'] === 'tool_use') {
      toolCalls.push(
        encodeToolCall(getString(block, 'id') ?? '', getString(block, 'name') ?? '', block['input']),
      )
    }
  }
  const finish = mapFinish(getString(body, 'stop_reason') ?? 'end_turn')
  const result = { text, reasoning, reasoningDetails, toolCalls, finish, refusal: refusalText(body) }
  const identity = { id: getString(body, 'id'), model: getString(body, 'model') }
  return chatCompletion(identity, [result], parseAnthropicUsage(getObject(body, 'usage')), call)
}

/** The HTTP status of an error inside a stream (Anthropic, "Errors"). */
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
 * Calls of tools that Anthropic runs itself. Only callers with Anthropic's format can request them. They are translated
 * so that the output of the model is metered as it arrives.
 */
const serverTools = new Set(['server_tool_use', 'mcp_tool_use'])

/** A block that has started and not ended. */
interface OpenBlock {
  readonly type: string
  /** Of a tool call: its index. */
  readonly call: number
  text: string
  signature: string | undefined
}

export class AnthropicStreamTranslation implements StreamTranslation {
  readonly #writer: ChunkWriter
  readonly #blocks = new Map<number, OpenBlock>()
  #hasStarted = false
  #calls = 0
  /** The counts so far; later ones override earlier ones. */
  #usage: Json | undefined
  #isFinished = false
  isComplete = false

  constructor(call: UpstreamCall) {
    this.#writer = new ChunkWriter(call)
  }

  translate({ text }: StreamEvent): readonly Chunk[] {
    const event = parseBoundedJson(text)
    if (!isObject(event) || typeof event['type'] !== 'string') throw new Error('Not an Anthropic event.')
    switch (event['type']) {
      case 'message_start':
        return this.#onMessageStart(getObject(event, 'message') ?? {})
      case 'content_block_start':
        return this.#onBlockStart(getNumber(event, 'index') ?? 0, getObject(event, 'content_block') ?? {})
      case 'content_block_delta':
        return this.#onDelta(getNumber(event, 'index') ?? 0, getObject(event, 'delta') ?? {})
      case 'content_block_stop':
        return this.#onBlockStop(getNumber(event, 'index') ?? 0)
      case 'message_delta':
        return this.#onMessageDelta(event)
      case 'message_stop':
        this.isComplete = true
        return []
      case 'error':
        return [toErrorChunk(getObject(event, 'error') ?? {})]
      default:
        return []
    }
  }

  end(): readonly Chunk[] {
    const usage = this.#isFinished ? parseAnthropicUsage(this.#usage) : null
    this.#usage = undefined
    return usage ? this.#writer.usage(usage) : []
  }

  #onMessageStart(message: Json): Chunk[] {
    // An upstream that starts over, or mixes two responses: none of them can be trusted to be complete.
    if (this.#hasStarted) throw new Error('A second message started in the same stream.')
    this.#hasStarted = true
    const id = getString(message, 'id')
    this.#usage = getObject(message, 'usage')
    this.#writer.setIdentity(id, getString(message, 'model'))
    return this.#writer.start()
  }

  #onBlockStart(index: number, block: Json): Chunk[] {
    const type = getString(block, 'type') ?? ''
    const signature = getString(block, 'signature') || undefined
    const open = { type, call: type === 'tool_use' ? this.#calls++ : 0, text: '', signature }
    this.#blocks.set(index, open)
    if (type === 'text') return this.#writer.text(getString(block, 'text') ?? '')
    if (type === 'thinking') {
      open.text = getString(block, 'thinking') ?? ''
      return this.#writer.reasoning(open.text)
    }
    if (type === 'redacted_thinking') {
      const detail = encryptedDetail(getString(block, 'data') ?? '', { format: anthropicFormat, index })
      return this.#writer.delta({ reasoning_details: [detail] })
    }
    if (serverTools.has(type)) {
      return this.#writer.delta({ server_tool_calls: [{ name: getString(block, 'name') ?? '' }] })
    }
    if (type !== 'tool_use') return []
    const called = { name: getString(block, 'name') ?? '', arguments: '' }
    const started = { index: open.call, id: getString(block, 'id') ?? '', type: 'function', function: called }
    return this.#writer.delta({ tool_calls: [started] })
  }

  #onDelta(index: number, delta: Json): Chunk[] {
    const open = this.#blocks.get(index)
    switch (delta['type']) {
      case 'text_delta':
        return this.#writer.text(getString(delta, 'text') ?? '')
      case 'thinking_delta': {
        const text = getString(delta, 'thinking') ?? ''
        if (open) open.text += text
        return this.#writer.reasoning(text)
      }
      case 'signature_delta':
        if (open) open.signature = (open.signature ?? '') + (getString(delta, 'signature') ?? '')
        return []
      case 'input_json_delta':
        return open ? this.#onToolInput(open, getString(delta, 'partial_json') ?? '') : []
      default:
        return []
    }
  }

  #onToolInput(open: OpenBlock, text: string): Chunk[] {
    if (text === '') return []
    if (serverTools.has(open.type)) return this.#writer.delta({ server_tool_calls: [{ arguments: text }] })
    if (open.type !== 'tool_use') return []
    open.text += text
    return this.#writer.delta({ tool_calls: [{ index: open.call, function: { arguments: text } }] })
  }

  #onBlockStop(index: number): Chunk[] {
    const open = this.#blocks.get(index)
    this.#blocks.delete(index)
    if (open?.type === 'thinking') {
      const { text, signature } = open
      const detail = textDetail(text, { signature, format: anthropicFormat, index })
      return this.#writer.delta({ reasoning_details: [detail] })
    }
    // Arguments must be JSON, even if there are none.
    return open?.type === 'tool_use' && open.text === '' ? this.#onToolInput(open, '{}') : []
  }

  #onMessageDelta(event: Json): Chunk[] {
    this.#usage = { ...this.#usage, ...getObject(event, 'usage') }
    const delta = getObject(event, 'delta') ?? {}
    const native = getString(delta, 'stop_reason')
    if (native === undefined || this.#isFinished) return []
    this.#isFinished = true
    const refusal = refusalText(delta)
    const refusalChunks = refusal === undefined ? [] : this.#writer.delta({ refusal })
    return [...refusalChunks, ...this.#writer.finish(mapFinish(native))]
  }
}

function toErrorChunk(error: Json): Chunk {
  const type = getString(error, 'type') ?? 'api_error'
  return errorChunk(getString(error, 'message') ?? type, type, lookup(statuses, type) ?? 500)
}
