/** A streamed answer of the common format in Anthropic's: chunk by chunk, its blocks one after another. */
import { newId } from '../lib/ids.ts'
import { numberIn, objectIn, objectsIn, textIn, type Json } from '../providers/json-fields.ts'
import { isObject, type TokenUsage } from '../providers/usage.ts'
import { carried } from './thinking-signature.ts'
import { BlockQueue } from './block-queue.ts'
import { isHidden, piecesOf, stopOf, type AnswerTerms } from './messages-answer.ts'
import {
  BlockLog,
  blockStop,
  eventOf,
  messageDelta,
  messageStop,
  shortEnd,
  usageOfMessage,
  type Stop,
} from './messages-events.ts'

const nothing = { input: 0, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0 }

/** How a settled answer ended: as it does when the money ran out after `paid` tokens, or by itself. */
export interface Ended {
  readonly isShort: boolean
  readonly paid: number
  readonly usage: TokenUsage
}

export class MessagesStream {
  readonly #terms: AnswerTerms
  readonly #meter: { readonly tokens: number }
  readonly #log = new BlockLog()
  readonly #out: Buffer[] = []
  readonly #blocks: BlockQueue
  /** The tokens that were out when the message began; with a first chunk of many they may not be paid for. */
  #begunAt: number | null = null
  #start: Buffer = Buffer.alloc(0)
  #stop: Stop | null = null

  /** `meter` has read each chunk before it is taken. */
  constructor(terms: AnswerTerms, meter: { readonly tokens: number }) {
    this.#terms = terms
    this.#meter = meter
    this.#blocks = new BlockQueue(terms.provider, this.#log, this.#out)
  }

  take(chunk: unknown): Buffer | null {
    if (!isObject(chunk)) return null
    this.#blocks.tokens = this.#meter.tokens
    this.#begin(chunk)
    const [choice] = objectsIn(chunk, 'choices')
    if (choice) this.#onChoice(choice)
    return this.#said()
  }

  conclude({ isShort, paid, usage }: Ended): Buffer[] {
    if (isShort) {
      const start = this.#begunAt === null || this.#begunAt > paid ? [this.#start] : []
      return [...start, ...this.#log.openAt(paid).map(blockStop), shortEnd(usage), messageStop]
    }
    this.#blocks.finish()
    const stop = this.#stop ?? stopOf({}, this.#blocks.hasCalls, [])
    const rest = this.#said()
    return [...(rest ? [rest] : []), messageDelta(stop, usage), messageStop]
  }

  #begin(chunk: Json): void {
    if (this.#begunAt !== null) return
    this.#begunAt = this.#meter.tokens
    const message = {
      id: textIn(chunk, 'id') ?? newId('msg'),
      type: 'message',
      role: 'assistant',
      model: textIn(chunk, 'model') ?? '',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: usageOfMessage(nothing),
    }
    this.#start = eventOf('message_start', { message })
    this.#out.push(this.#start)
  }

  #onChoice(choice: Json): void {
    this.#onDelta(objectIn(choice, 'delta') ?? {})
    if (this.#stop !== null || (textIn(choice, 'finish_reason') ?? '') === '') return
    this.#blocks.finish()
    this.#stop = stopOf(choice, this.#blocks.hasCalls, this.#terms.stops)
  }

  #onDelta(delta: Json): void {
    for (const { kind, text } of piecesOf(delta)) this.#blocks.words(kind, text)
    for (const detail of objectsIn(delta, 'reasoning_details')) {
      if (isHidden(detail)) this.#blocks.redacted(carried(this.#terms.provider, detail))
      else this.#blocks.proof(detail)
    }
    for (const [place, call] of objectsIn(delta, 'tool_calls').entries()) {
      const called = objectIn(call, 'function') ?? {}
      this.#blocks.call(numberIn(call, 'index') ?? place, {
        id: textIn(call, 'id'),
        name: textIn(called, 'name') ?? '',
        input: textIn(called, 'arguments') ?? '',
      })
    }
  }

  #said(): Buffer | null {
    if (this.#out.length === 0) return null
    const said = Buffer.concat(this.#out)
    this.#out.length = 0
    return said
  }
}
