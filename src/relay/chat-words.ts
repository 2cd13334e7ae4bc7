/**
 * A streamed answer in the common format: chunks go out as they came. What only tells the usage is hidden from callers
 * who did not ask for it, and waits for the bill of those who did.
 */
import type { Usage } from '../ledger/price.ts'
import { decimalOf } from '../lib/money.ts'
import { encodeEvent, keepAliveComment } from '../lib/sse/sse-parser.ts'
import type { ServerEvent } from '../lib/sse/sse-event.ts'
import { usageBody } from './bill.ts'
import type { CallerFormat, Conclusion, StreamWords } from './caller-format.ts'
import type { ChunkFacts, Meter } from './streaming/usage-meter.ts'

export const chatFormat: CallerFormat = {
  keepAlive: keepAliveComment,
  errorEvent: (refusal) => encodeEvent(JSON.stringify(refusal.toBody())),
}

const done = Buffer.from('data: [DONE]\n\n')

export class ChatWords implements StreamWords {
  readonly #includeUsage: boolean
  readonly #meter: Meter
  /** The usage event that waits for the bill. */
  #tail: Buffer | null = null

  constructor(includeUsage: boolean, meter: Meter) {
    this.#includeUsage = includeUsage
    this.#meter = meter
  }

  take(chunk: unknown, facts: ChunkFacts, event: ServerEvent | null): Buffer | null {
    if (facts.hasUsage && facts.isBare && !this.#includeUsage) return null
    const bytes = event ? event.plain : encodeEvent(JSON.stringify(chunk))
    const tail = this.#tail
    if (facts.hasUsage && this.#includeUsage && (facts.isBare || facts.hasFinish)) {
      this.#tail = Buffer.from(bytes)
      return tail
    }
    if (tail === null) return bytes
    // A usage event that turns out not to be the last goes out as it came.
    this.#tail = null
    return Buffer.concat([tail, bytes])
  }

  /** What still waits, the usage with its cost, and `[DONE]`. */
  conclude({ isShort, charge, usage }: Conclusion): Buffer[] {
    const last = isShort ? [this.#shortEnd()] : []
    const tail = isShort ? this.#usageEvent(usage) : (this.#tail ?? this.#estimateTail(usage))
    if (tail && this.#includeUsage) last.push(withCost(tail, charge))
    return [...last, done]
  }

  /** Where the money ends, the answer ends as one that reached its maximum, and says why. */
  #shortEnd(): Buffer {
    const choices = [{ index: 0, delta: {}, finish_reason: 'length' }]
    return this.#event({ choices, sluice: { ended: 'insufficient_quota' } })
  }

  /** What is billed instead, where the provider has told no usage. */
  #estimateTail(usage: Usage): Buffer | null {
    return this.#meter.usage ? null : this.#usageEvent(usage)
  }

  #usageEvent(usage: Usage): Buffer {
    return this.#event({ choices: [], usage: usageBody(usage) })
  }

  /** A chunk of ours within the provider's stream. */
  #event(fields: Readonly<Record<string, unknown>>): Buffer {
    const chunk = { object: 'chat.completion.chunk', ...this.#meter.identity, ...fields }
    return encodeEvent(JSON.stringify(chunk))
  }
}

/** A usage event with `usage.cost`, exact, in place of any cost of the provider's. */
function withCost(event: Buffer, charge: bigint): Buffer {
  const chunk = JSON.parse(event.toString('utf8', 'data: '.length)) as { usage: Record<string, unknown> }
  const usage = { ...chunk.usage, cost: JSON.rawJSON(decimalOf(charge)) }
  return encodeEvent(JSON.stringify({ ...chunk, usage }))
}
