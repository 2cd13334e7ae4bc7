/**
 * Encodes a stream in the OpenAI format: chunks are sent unchanged. A chunk with only the usage is hidden from callers
 * that did not request it, and held back until the charge is known for those that did.
 */
import type { Usage } from '../../ledger/price.ts'
import { formatAmount } from '../../lib/money.ts'
import { encodeSseEvent, keepAliveComment } from '../../lib/sse/sse-parser.ts'
import type { SseEvent } from '../../lib/sse/sse-event.ts'
import { serializeUsage } from '../bill.ts'
import type { CallerFormat, StreamCause, StreamConclusion, StreamEncoder } from '../request/caller-format.ts'
import type { ChunkFacts, UsageMeter } from './usage-meter.ts'

const doneEvent = Buffer.from('data: [DONE]\n\n')

export const openAIFormat: CallerFormat = {
  operation: 'chat',
  keepAlive: keepAliveComment,
  errorEvent: (error) => encodeSseEvent(JSON.stringify(error.toBody())),
  // The format has no error event: some clients ignore ours, and do not miss `[DONE]`.
  isCutAfter: (lastBytes) => !lastBytes.subarray(-doneEvent.length).equals(doneEvent),
}

/** What differs between chunks of chat completions and of completions. */
export interface ChunkShape {
  readonly object: string
  /** Of a result in a chunk that writes nothing. */
  readonly written: Readonly<Record<string, unknown>>
}

const chatChunk: ChunkShape = { object: 'chat.completion.chunk', written: { delta: {} } }

export class ChatStreamEncoder implements StreamEncoder {
  readonly sendsEventsUnchanged = true
  readonly #includeUsage: boolean
  readonly #meter: UsageMeter
  readonly #shape: ChunkShape
  /** The usage event, held back until the charge is known. */
  #pendingUsage: Buffer | null = null

  constructor(includeUsage: boolean, meter: UsageMeter, shape = chatChunk) {
    this.#includeUsage = includeUsage
    this.#meter = meter
    this.#shape = shape
  }

  encode(chunk: unknown, facts: ChunkFacts, event: SseEvent | null): Buffer | null {
    if (facts.hasUsage && facts.isBare && !this.#includeUsage) return null
    const bytes = event ? event.dataOnly : encodeSseEvent(JSON.stringify(chunk))
    const pendingUsage = this.#pendingUsage
    if (facts.hasUsage && this.#includeUsage && (facts.isBare || facts.hasFinish)) {
      this.#pendingUsage = Buffer.from(bytes)
      return pendingUsage
    }
    if (pendingUsage === null) return bytes
    // A usage event that is not the last one is sent unchanged.
    this.#pendingUsage = null
    return Buffer.concat([pendingUsage, bytes])
  }

  /** The usage with its cost, and `[DONE]`. */
  finalEvents({ cutBy, charge, usage }: StreamConclusion): Buffer[] {
    const last = cutBy ? [this.#cutEvent(cutBy)] : []
    const pendingUsage = cutBy
      ? this.#usageEvent(usage)
      : (this.#pendingUsage ?? this.#estimatedUsageEvent(usage))
    if (pendingUsage && this.#includeUsage) last.push(withCost(pendingUsage, charge))
    return [...last, doneEvent]
  }

  /** The response ends as if it had reached its maximum. If the account ran out of credit, the event says so. */
  #cutEvent(cutBy: StreamCause): Buffer {
    const choices = [{ index: 0, ...this.#shape.written, finish_reason: 'length' }]
    return this.#event({ choices, ...(cutBy === 'money' ? { sluice: { ended: 'insufficient_quota' } } : {}) })
  }

  /** The billed usage, if the provider reported none. */
  #estimatedUsageEvent(usage: Usage): Buffer | null {
    return this.#meter.usage ? null : this.#usageEvent(usage)
  }

  #usageEvent(usage: Usage): Buffer {
    return this.#event({ choices: [], usage: serializeUsage(usage) })
  }

  /** A chunk of our own in the provider's stream. */
  #event(fields: Readonly<Record<string, unknown>>): Buffer {
    const chunk = { object: this.#shape.object, ...this.#meter.identity, ...fields }
    return encodeSseEvent(JSON.stringify(chunk))
  }
}

/** Adds the exact `usage.cost`, which replaces any cost of the provider's. */
function withCost(event: Buffer, charge: bigint): Buffer {
  const chunk = JSON.parse(event.toString('utf8', 'data: '.length)) as { usage: Record<string, unknown> }
  const usage = { ...chunk.usage, cost: JSON.rawJSON(formatAmount(charge)) }
  return encodeSseEvent(JSON.stringify({ ...chunk, usage }))
}
