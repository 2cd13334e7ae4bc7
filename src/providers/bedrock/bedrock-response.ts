/** Translates responses and streams of Amazon Bedrock's Converse API into the OpenAI format. */
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
import { bedrockFormat, encryptedDetail, textDetail } from '../reasoning-details.ts'
import { isObject, type TokenUsage } from '../usage.ts'

const reasons: Readonly<Record<string, FinishReason>> = {
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  guardrail_intervened: 'content_filter',
  content_filtered: 'content_filter',
}

function mapFinish(native: string): Finish {
  return { reason: lookup(reasons, native) ?? 'stop', native }
}

/** Tokens read from and written to the cache are not part of `inputTokens`. */
function parseBedrockUsage(usage: Json | undefined): TokenUsage | null {
  if (!usage || !hasAnyCount(usage, 'inputTokens', 'outputTokens')) return null
  const cachedInput = getCount(usage, 'cacheReadInputTokens')
  const cacheWrite = getCount(usage, 'cacheWriteInputTokens')
  const input = getCount(usage, 'inputTokens') + cachedInput + cacheWrite
  return { input, cachedInput, cacheWrite, output: getCount(usage, 'outputTokens'), reasoning: 0 }
}

/** Translates a non-streaming response. Throws for an invalid body. */
export function translateBedrockResponse(body: unknown, call: UpstreamCall): Json {
  const message = isObject(body) ? getObject(getObject(body, 'output') ?? {}, 'message') : undefined
  if (!isObject(body) || !message) throw new Error('Not a Bedrock response.')
  let text = ''
  let reasoning = ''
  const reasoningDetails: Json[] = []
  const toolCalls: Json[] = []
  for (const [index, block] of getObjects(message, 'content').entries()) {
    const about = { format: bedrockFormat, index }
    text += getString(block, 'text') ?? ''
    const use = getObject(block, 'toolUse')
    if (use)
      toolCalls.push(
        encodeToolCall(getString(use, 'toolUseId') ?? '', getString(use, 'name') ?? '', use['input']),
      )
    const thought = getObject(block, 'reasoningContent') ?? {}
    const readable = getObject(thought, 'reasoningText')
    const hidden = getString(thought, 'redactedContent')
    if (readable) {
      const thinking = getString(readable, 'text') ?? ''
      reasoning += thinking
      reasoningDetails.push(textDetail(thinking, { ...about, signature: getString(readable, 'signature') }))
    } else if (hidden !== undefined) reasoningDetails.push(encryptedDetail(hidden, about))
  }
  const finish = mapFinish(getString(body, 'stopReason') ?? 'end_turn')
  const result = { text, reasoning, reasoningDetails, toolCalls, finish }
  const usage = parseBedrockUsage(getObject(body, 'usage'))
  return chatCompletion({ id: undefined, model: undefined }, [result], usage, call)
}

/** The HTTP status of an exception inside a stream. */
const statuses: Readonly<Record<string, number>> = {
  validationException: 400,
  accessDeniedException: 403,
  resourceNotFoundException: 404,
  throttlingException: 429,
  modelStreamErrorException: 424,
  modelTimeoutException: 408,
  internalServerException: 500,
  serviceUnavailableException: 503,
}

/** A block that has started and not ended. */
interface OpenBlock {
  /** Of a tool call: its index; else -1. */
  readonly call: number
  text: string
  hasThought: boolean
  signature: string | undefined
}

export class BedrockStreamTranslation implements StreamTranslation {
  readonly #writer: ChunkWriter
  readonly #blocks = new Map<number, OpenBlock>()
  #calls = 0
  #usage: TokenUsage | null = null
  #isFinished = false
  #sawMetadata = false

  constructor(call: UpstreamCall) {
    this.#writer = new ChunkWriter(call)
  }

  /** The stop and the usage arrive in either order; nothing follows both. */
  get isComplete(): boolean {
    return this.#isFinished && this.#sawMetadata
  }

  translate({ name, text }: StreamEvent): readonly Chunk[] {
    const event = parseBoundedJson(text)
    if (!isObject(event)) throw new Error('Not a Bedrock event.')
    const index = getNumber(event, 'contentBlockIndex') ?? 0
    switch (name) {
      case 'messageStart':
        return this.#writer.start()
      case 'contentBlockStart':
        return this.#onBlockStart(index, getObject(getObject(event, 'start') ?? {}, 'toolUse'))
      case 'contentBlockDelta':
        return this.#onDelta(index, getObject(event, 'delta') ?? {})
      case 'contentBlockStop':
        return this.#onBlockStop(index)
      case 'messageStop':
        this.#isFinished = true
        return this.#writer.finish(mapFinish(getString(event, 'stopReason') ?? 'end_turn'))
      case 'metadata':
        this.#sawMetadata = true
        this.#usage = parseBedrockUsage(getObject(event, 'usage'))
        return []
      default:
        return this.#onUnknownEvent(name, event)
    }
  }

  end(): readonly Chunk[] {
    const usage = this.#usage
    this.#usage = null
    return this.#isFinished && usage ? this.#writer.usage(usage) : []
  }

  #onUnknownEvent(name: string, event: Json): Chunk[] {
    const status =
      lookup(statuses, name.charAt(0).toLowerCase() + name.slice(1)) ??
      (/Exception|Failure|Error/.test(name) ? 500 : undefined)
    if (status === undefined) return []
    return [errorChunk(getString(event, 'message') ?? name, name, status)]
  }

  #open(index: number, call: number): OpenBlock {
    const open: OpenBlock = { call, text: '', hasThought: false, signature: undefined }
    this.#blocks.set(index, open)
    return open
  }

  #onBlockStart(index: number, use: Json | undefined): Chunk[] {
    const { call } = this.#open(index, use ? this.#calls++ : -1)
    if (!use) return []
    const called = { name: getString(use, 'name') ?? '', arguments: '' }
    const started = { index: call, id: getString(use, 'toolUseId') ?? '', type: 'function', function: called }
    return this.#writer.delta({ tool_calls: [started] })
  }

  #onDelta(index: number, delta: Json): Chunk[] {
    const open = this.#blocks.get(index) ?? this.#open(index, -1)
    const use = getObject(delta, 'toolUse')
    if (use && open.call !== -1) return this.#onToolInput(open, getString(use, 'input') ?? '')
    const thought = getObject(delta, 'reasoningContent')
    return thought ? this.#onThought(open, index, thought) : this.#writer.text(getString(delta, 'text') ?? '')
  }

  #onThought(open: OpenBlock, index: number, thought: Json): Chunk[] {
    const hidden = getString(thought, 'redactedContent')
    if (hidden !== undefined) {
      return this.#writer.delta({
        reasoning_details: [encryptedDetail(hidden, { format: bedrockFormat, index })],
      })
    }
    const text = getString(thought, 'text') ?? ''
    open.hasThought = true
    open.text += text
    open.signature = getString(thought, 'signature') ?? open.signature
    return this.#writer.reasoning(text)
  }

  #onToolInput(open: OpenBlock, text: string): Chunk[] {
    if (text === '') return []
    open.text += text
    return this.#writer.delta({ tool_calls: [{ index: open.call, function: { arguments: text } }] })
  }

  #onBlockStop(index: number): Chunk[] {
    const open = this.#blocks.get(index)
    this.#blocks.delete(index)
    if (open?.hasThought) {
      const { text, signature } = open
      const detail = textDetail(text, { signature, format: bedrockFormat, index })
      return this.#writer.delta({ reasoning_details: [detail] })
    }
    // Arguments must be JSON, even if there are none.
    return open && open.call !== -1 && open.text === '' ? this.#onToolInput(open, '{}') : []
  }
}
