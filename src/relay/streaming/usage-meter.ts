/**
 * Reads a stream's chunks on their way: is there content, has it finished, what does the provider bill, how many tokens
 * has it written by the estimate rule. Nothing is changed here.
 */
import { isObject, usageOf, type TokenUsage } from '../../providers/usage.ts'
import { TokenCount } from '../request/token-estimate.ts'

/** What one chunk says. */
export interface ChunkFacts {
  /** Text, thinking or a tool call: what commits an answer to its upstream. */
  readonly hasContent: boolean
  /** A choice has ended in it. */
  readonly hasFinish: boolean
  readonly hasUsage: boolean
  /** `choices` is there and empty: the chunk exists only for its usage, or for the provider's own purposes. */
  readonly isBare: boolean
  readonly error: unknown
}

const structural = new Set(['role', 'id', 'type', 'object', 'format', 'index', 'signature'])

/** Adds every text of a delta that the model wrote; true when there was any, or a tool call began. */
function countWritten(count: TokenCount, value: unknown, key: string): boolean {
  if (typeof value === 'string') {
    if (value === '' || structural.has(key)) return false
    count.add(value)
    return true
  }
  if (Array.isArray(value)) {
    let found = false
    for (const each of value) if (countWritten(count, each, key)) found = true
    return found
  }
  if (!isObject(value)) return false
  let found = false
  for (const name in value) {
    // The same thinking once more, in the shape in which it may be sent back.
    if (name !== 'reasoning_details' && countWritten(count, value[name], name)) found = true
  }
  return found
}

export class Meter {
  readonly #count = new TokenCount()
  /** The provider's bill, the last one told. */
  usage: TokenUsage | null = null
  /** The upstream's word for why the answer ended. */
  finish: string | null = null
  sawContent = false
  /** What every chunk of the answer repeats: id, created, model. */
  identity: Readonly<Record<string, unknown>> | null = null

  /** Output tokens so far, by the estimate rule. */
  get tokens(): number {
    return this.#count.tokens
  }

  /** Reads one chunk, or a whole answer (whose choices have a `message` instead of a `delta`). */
  take(chunk: unknown): ChunkFacts {
    if (!isObject(chunk)) {
      return { hasContent: false, hasFinish: false, hasUsage: false, isBare: false, error: undefined }
    }
    const { choices, usage } = chunk
    this.identity ??= { id: chunk['id'], created: chunk['created'], model: chunk['model'] }
    let hasContent = false
    let hasFinish = false
    if (Array.isArray(choices)) {
      for (const choice of choices) {
        if (!isObject(choice)) continue
        const written = choice['delta'] ?? choice['message'] ?? choice['text']
        if (written !== undefined && countWritten(this.#count, written, 'text')) hasContent = true
        const finish = choice['finish_reason']
        if (typeof finish === 'string' && finish !== '') {
          this.finish = finish
          hasFinish = true
        }
      }
    }
    const found = usage === undefined || usage === null ? null : usageOf(usage)
    if (found) this.usage = found
    if (hasContent) this.sawContent = true
    return {
      hasContent,
      hasFinish,
      hasUsage: found !== null,
      isBare: Array.isArray(choices) && choices.length === 0,
      error: choices === undefined || choices === null ? chunk['error'] : undefined,
    }
  }
}
