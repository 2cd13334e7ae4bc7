/** Answers of Amazon Bedrock's Converse API in the common format: whole, and event by event. */
import {
  ChunkWriter,
  completion,
  errorChunk,
  toolCall,
  type Finish,
  type FinishReason,
} from '../chat-response.ts'
import {
  countIn,
  hasCount,
  numberIn,
  objectIn,
  objectsIn,
  textIn,
  type Json,
  entryOf,
} from '../json-fields.ts'
import type { Call, Chunk, StreamEvent, StreamTranslation } from '../provider.ts'
import { bedrockFormat, encryptedDetail, textDetail } from '../reasoning-details.ts'
import { isObject, type TokenUsage } from '../usage.ts'

const reasons: Readonly<Record<string, FinishReason>> = {
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  guardrail_intervened: 'content_filter',
  content_filtered: 'content_filter',
}

function finishOf(native: string): Finish {
  return { reason: entryOf(reasons, native) ?? 'stop', native }
}

/** What went through the cache stands beside `inputTokens`. */
function usageOf(told: Json | undefined): TokenUsage | null {
  if (!told || !hasCount(told, 'inputTokens', 'outputTokens')) return null
  const cachedInput = countIn(told, 'cacheReadInputTokens')
  const cacheWrite = countIn(told, 'cacheWriteInputTokens')
  const input = countIn(told, 'inputTokens') + cachedInput + cacheWrite
  return { input, cachedInput, cacheWrite, output: countIn(told, 'outputTokens'), reasoning: 0 }
}

/** A whole answer. Throws for a body that is none. */
export function bedrockWhole(body: unknown, call: Call): Json {
  const message = isObject(body) ? objectIn(objectIn(body, 'output') ?? {}, 'message') : undefined
  if (!isObject(body) || !message) throw new Error('This is no answer of Bedrock.')
  let text = ''
  let reasoning = ''
  const reasoningDetails: Json[] = []
  const toolCalls: Json[] = []
  for (const [index, block] of objectsIn(message, 'content').entries()) {
    const about = { format: bedrockFormat, index }
    text += textIn(block, 'text') ?? ''
    const use = objectIn(block, 'toolUse')
    if (use) toolCalls.push(toolCall(textIn(use, 'toolUseId') ?? '', textIn(use, 'name') ?? '', use['input']))
    const thought = objectIn(block, 'reasoningContent') ?? {}
    const said = objectIn(thought, 'reasoningText')
    const hidden = textIn(thought, 'redactedContent')
    if (said) {
      const words = textIn(said, 'text') ?? ''
      reasoning += words
      reasoningDetails.push(textDetail(words, { ...about, signature: textIn(said, 'signature') }))
    } else if (hidden !== undefined) reasoningDetails.push(encryptedDetail(hidden, about))
  }
  const finish = finishOf(textIn(body, 'stopReason') ?? 'end_turn')
  const result = { text, reasoning, reasoningDetails, toolCalls, finish }
  const usage = usageOf(objectIn(body, 'usage'))
  return completion({ id: undefined, model: undefined }, [result], usage, call)
}

/** The HTTP status that an exception inside a stream amounts to. */
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

/** A block that has begun and not ended. */
interface OpenBlock {
  /** Of a tool's use: its place among the calls; else -1. */
  readonly call: number
  text: string
  hasThought: boolean
  signature: string | undefined
}

export class BedrockStream implements StreamTranslation {
  readonly #out: ChunkWriter
  readonly #blocks = new Map<number, OpenBlock>()
  #calls = 0
  #usage: TokenUsage | null = null
  #isFinished = false
  #sawMetadata = false

  constructor(call: Call) {
    this.#out = new ChunkWriter(call)
  }

  /** The stop and the usage come in either order; nothing comes after both. */
  get isOver(): boolean {
    return this.#isFinished && this.#sawMetadata
  }

  take({ name, text }: StreamEvent): readonly Chunk[] {
    const event: unknown = JSON.parse(text)
    if (!isObject(event)) throw new Error('This is no event of Bedrock.')
    const index = numberIn(event, 'contentBlockIndex') ?? 0
    switch (name) {
      case 'messageStart':
        return this.#out.begin()
      case 'contentBlockStart':
        return this.#onStart(index, objectIn(objectIn(event, 'start') ?? {}, 'toolUse'))
      case 'contentBlockDelta':
        return this.#onDelta(index, objectIn(event, 'delta') ?? {})
      case 'contentBlockStop':
        return this.#onStop(index)
      case 'messageStop':
        this.#isFinished = true
        return this.#out.finish(finishOf(textIn(event, 'stopReason') ?? 'end_turn'))
      case 'metadata':
        this.#sawMetadata = true
        this.#usage = usageOf(objectIn(event, 'usage'))
        return []
      default:
        return this.#onOther(name, event)
    }
  }

  end(): readonly Chunk[] {
    const usage = this.#usage
    this.#usage = null
    return this.#isFinished && usage ? this.#out.usage(usage) : []
  }

  #onOther(name: string, event: Json): Chunk[] {
    const status =
      entryOf(statuses, name.charAt(0).toLowerCase() + name.slice(1)) ??
      (/Exception|Failure|Error/.test(name) ? 500 : undefined)
    if (status === undefined) return []
    return [errorChunk(textIn(event, 'message') ?? name, name, status)]
  }

  #open(index: number, call: number): OpenBlock {
    const open: OpenBlock = { call, text: '', hasThought: false, signature: undefined }
    this.#blocks.set(index, open)
    return open
  }

  #onStart(index: number, use: Json | undefined): Chunk[] {
    const { call } = this.#open(index, use ? this.#calls++ : -1)
    if (!use) return []
    const called = { name: textIn(use, 'name') ?? '', arguments: '' }
    const begun = { index: call, id: textIn(use, 'toolUseId') ?? '', type: 'function', function: called }
    return this.#out.delta({ tool_calls: [begun] })
  }

  #onDelta(index: number, delta: Json): Chunk[] {
    const open = this.#blocks.get(index) ?? this.#open(index, -1)
    const use = objectIn(delta, 'toolUse')
    if (use && open.call !== -1) return this.#onInput(open, textIn(use, 'input') ?? '')
    const thought = objectIn(delta, 'reasoningContent')
    return thought ? this.#onThought(open, index, thought) : this.#out.text(textIn(delta, 'text') ?? '')
  }

  #onThought(open: OpenBlock, index: number, thought: Json): Chunk[] {
    const hidden = textIn(thought, 'redactedContent')
    if (hidden !== undefined) {
      return this.#out.delta({
        reasoning_details: [encryptedDetail(hidden, { format: bedrockFormat, index })],
      })
    }
    const text = textIn(thought, 'text') ?? ''
    open.hasThought = true
    open.text += text
    open.signature = textIn(thought, 'signature') ?? open.signature
    return this.#out.reasoning(text)
  }

  #onInput(open: OpenBlock, text: string): Chunk[] {
    if (text === '') return []
    open.text += text
    return this.#out.delta({ tool_calls: [{ index: open.call, function: { arguments: text } }] })
  }

  #onStop(index: number): Chunk[] {
    const open = this.#blocks.get(index)
    this.#blocks.delete(index)
    if (open?.hasThought) {
      const { text, signature } = open
      const detail = textDetail(text, { signature, format: bedrockFormat, index })
      return this.#out.delta({ reasoning_details: [detail] })
    }
    // Arguments are JSON, also where there are none.
    return open && open.call !== -1 && open.text === '' ? this.#onInput(open, '{}') : []
  }
}
