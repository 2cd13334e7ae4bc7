/** Encodes a stream in the OpenAI format as Anthropic's: chunk by chunk, with its blocks one after another. */
import { newId } from '../lib/ids.ts'
import { getObject, getObjects, getString, isObject, type Json } from '../providers/json-fields.ts'
import { CallPieces, encodeArguments } from '../providers/tool-call-pieces.ts'
import { noUsage, type TokenUsage } from '../providers/usage.ts'
import { isEncrypted, wrapSignature } from './thinking-signature.ts'
import { extractPieces } from './content-pieces.ts'
import { BlockQueue } from './block-queue.ts'
import { originalToolName } from './tool-names.ts'
import { stopReasonOf, type ResponseContext } from './messages-response.ts'
import {
  atMaximum,
  BlockLog,
  encodeMessagesEvent,
  messageDelta,
  messageStop,
  serializeMessagesUsage,
  type StopReason,
} from './messages-events.ts'

/** How a settled response ended: by itself (`null`), because money ended after `paidTokens`, or cut at a maximum. */
export interface MessagesConclusion {
  readonly cutBy: 'money' | 'maximum' | null
  readonly paidTokens: number
  readonly usage: TokenUsage
}

export class MessagesStreamEncoder {
  readonly #context: ResponseContext
  readonly #meter: { readonly tokens: number }
  readonly #log = new BlockLog()
  readonly #events: Buffer[] = []
  readonly #blocks: BlockQueue
  readonly #calls = new CallPieces()
  /** The output tokens when the message started; if the first chunk was large, they may not be paid for. */
  #startedAtTokens: number | null = null
  #start: Buffer = Buffer.alloc(0)
  #stop: StopReason | null = null

  /** `meter` must have read each chunk before it is encoded. */
  constructor(context: ResponseContext, meter: { readonly tokens: number }) {
    this.#context = context
    this.#meter = meter
    this.#blocks = new BlockQueue(context.provider, this.#log, this.#events)
  }

  encode(chunk: unknown): Buffer | null {
    if (!isObject(chunk)) return null
    this.#blocks.tokens = this.#meter.tokens
    this.#startMessage(chunk)
    const [choice] = getObjects(chunk, 'choices')
    if (choice) this.#onChoice(choice)
    return this.#takeEvents()
  }

  finalEvents({ cutBy, paidTokens, usage }: MessagesConclusion): Buffer[] {
    if (cutBy === 'money') {
      const start = this.#startedAtTokens === null || this.#startedAtTokens > paidTokens ? [this.#start] : []
      return [...start, ...this.#log.outOfCreditEvents(paidTokens, usage)]
    }
    this.#startMessage({})
    this.#blocks.finish()
    const stop =
      cutBy === 'maximum' ? atMaximum : (this.#stop ?? stopReasonOf({}, this.#blocks.hasCalls, this.#context))
    const rest = this.#takeEvents()
    return [...(rest ? [rest] : []), messageDelta(stop, usage), messageStop]
  }

  #startMessage(chunk: Json): void {
    if (this.#startedAtTokens !== null) return
    this.#startedAtTokens = this.#meter.tokens
    const message = {
      id: getString(chunk, 'id') ?? newId('msg'),
      type: 'message',
      role: 'assistant',
      model: getString(chunk, 'model') ?? '',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: serializeMessagesUsage({ ...noUsage, input: this.#context.inputTokens() }),
    }
    this.#start = encodeMessagesEvent('message_start', { message })
    this.#events.push(this.#start)
  }

  #onChoice(choice: Json): void {
    this.#onDelta(getObject(choice, 'delta') ?? {})
    if (this.#stop !== null || (getString(choice, 'finish_reason') ?? '') === '') return
    this.#blocks.finish()
    this.#stop = stopReasonOf(choice, this.#blocks.hasCalls, this.#context)
  }

  #onDelta(delta: Json): void {
    for (const { kind, text } of extractPieces(delta))
      this.#blocks.addText(kind === 'thinking' ? kind : 'text', text)
    for (const detail of getObjects(delta, 'reasoning_details')) {
      if (isEncrypted(detail)) this.#blocks.addRedacted(wrapSignature(this.#context.provider, detail))
      else this.#blocks.addSignature(detail)
    }
    for (const [position, call] of getObjects(delta, 'tool_calls').entries()) {
      const called = getObject(call, 'function') ?? {}
      this.#blocks.addToolCall(this.#calls.numberOf(call, position), {
        id: getString(call, 'id'),
        name: originalToolName(getString(called, 'name') ?? '', this.#context.request),
        input: encodeArguments(called['arguments']),
      })
    }
  }

  #takeEvents(): Buffer | null {
    if (this.#events.length === 0) return null
    const joined = Buffer.concat(this.#events)
    this.#events.length = 0
    return joined
  }
}
