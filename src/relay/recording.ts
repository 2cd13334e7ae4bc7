/**
 * An answer as it is kept for callers who repeat their request: one line of JSON that tells its form, then its bytes. The
 * price is known only when they are written, so it is left open in the last words, and put in when they are told.
 */
import { decimalOf } from '../lib/money.ts'
import type { CallerExchange } from './exchange.ts'
import { streamHeaders } from './outlet.ts'

/** A larger answer is not kept. */
const mostBytes = 1024 * 1024
const lineFeed = 10
const nothing = Buffer.alloc(0)
/** Stands in last words for a charge that is not known yet; no answer ever costs so much. */
export const unknownCharge = 9_223_372_036_854_775_807n
const unknownText = decimalOf(unknownCharge)

interface Form {
  readonly stream: boolean
  /** Of the answer's own headers those that are told again. */
  readonly headers: readonly string[]
  /** Where in the bytes the price belongs; null: they do not tell it. */
  readonly priceAt: number | null
}

function packed(form: Form, pieces: readonly Buffer[]): Uint8Array | null {
  const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0)
  if (bytes > mostBytes) return null
  return Buffer.concat([Buffer.from(`${JSON.stringify(form)}\n`), ...pieces])
}

/** What is left of the rates was true then, and only then. */
function lasting(headers: readonly string[]): string[] {
  const kept: string[] = []
  for (let at = 0; at < headers.length; at += 2) {
    const [name = '', value = ''] = [headers[at], headers[at + 1]]
    if (!name.startsWith('x-ratelimit-')) kept.push(name, value)
  }
  return kept
}

/** A whole answer to keep; null when it is too large. */
export function recordedWhole(bytes: Buffer, headers: readonly string[]): Uint8Array | null {
  return packed({ stream: false, headers: lasting(headers), priceAt: null }, [bytes])
}

/** Last words that were said with `unknownCharge`, in one piece and with the charge that it turned out to be. */
export function withCharge(words: readonly Buffer[], charge: bigint): Buffer {
  const bytes = Buffer.concat(words)
  const at = bytes.lastIndexOf(unknownText)
  if (at === -1) return bytes
  return Buffer.concat([
    bytes.subarray(0, at),
    Buffer.from(decimalOf(charge)),
    bytes.subarray(at + unknownText.length),
  ])
}

/** The events of a stream, as they go out. */
export class Recording {
  #events: { readonly bytes: Buffer; readonly upTo: number }[] = []
  #bytes = 0

  /** Events, with the output tokens up to and with them. The bytes are valid only during the call. */
  add(bytes: Buffer, upTo: number): void {
    this.#bytes += bytes.length
    // Beyond what is kept only the tokens are of interest any more.
    this.#events.push({ bytes: this.#bytes > mostBytes ? nothing : Buffer.from(bytes), upTo })
  }

  /** Output tokens of the events that so many pay. */
  within(tokens: number): number {
    return this.#events.findLast(({ upTo }) => upTo <= tokens)?.upTo ?? 0
  }

  /** The stream to keep: the events that so many tokens pay, and its last words; null when it is too large. */
  end(tokens: number, lastWords: readonly Buffer[], headers: readonly string[]): Uint8Array | null {
    if (this.#bytes > mostBytes) return null
    const paid = this.#events.filter(({ upTo }) => upTo <= tokens).map(({ bytes }) => bytes)
    const before = paid.reduce((sum, piece) => sum + piece.length, 0)
    const priceAt = Buffer.concat(lastWords).lastIndexOf(unknownText)
    const place = priceAt === -1 ? null : before + priceAt
    return packed({ stream: true, headers: lasting(headers), priceAt: place }, [...paid, ...lastWords])
  }
}

/** Gives a kept answer once more, with the price that it had. `headers`: besides its own. */
export function play(kept: Buffer, cost: bigint, exchange: CallerExchange, headers: readonly string[]): void {
  const lineEnd = kept.indexOf(lineFeed)
  const { stream, headers: first, priceAt } = JSON.parse(kept.toString('utf8', 0, lineEnd)) as Form
  const bytes = kept.subarray(lineEnd + 1)
  if (!stream) {
    const own = ['content-type', 'application/json', 'x-sluice-cost', decimalOf(cost)]
    exchange.answer(200, [...own, ...first, ...headers], bytes)
    return
  }
  exchange.begin(200, [...streamHeaders, ...first, ...headers])
  exchange.write(bytes.subarray(0, priceAt ?? bytes.length))
  if (priceAt !== null) exchange.write(withCharge([bytes.subarray(priceAt)], cost))
  exchange.end()
}
