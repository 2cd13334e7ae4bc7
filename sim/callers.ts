/**
 * The callers of a simulated node: random accounts with caps, and random requests, some of which repeat
 * earlier ones.
 */
import type { Caps } from '../src/ledger/caps.ts'
import type { IdempotencyClaim } from '../src/ledger/events.ts'
import type { Prng } from './prng.ts'
import type { Price } from '../src/ledger/price.ts'
import type { RequestScript } from './request.ts'

/** One nano-yuan per token, input and output. */
const nanoPrice: Price = {
  version: 1,
  input: 1_000_000n,
  output: 1_000_000n,
  cachedInput: null,
  cacheWrite: null,
  reasoning: null,
  perRequest: 0n,
}

export const accounts = ['a0', 'a1'] as const
export const keys = { a0: ['k0', 'k1'], a1: ['k2'] } as const

type Account = (typeof accounts)[number]

export function drawCaps(prng: Prng): Caps {
  const optionalCap = (max: number): bigint | null => (prng.bool(0.4) ? BigInt(prng.between(50, max)) : null)
  return {
    accountDay: optionalCap(2000),
    accountMonth: optionalCap(4000),
    keyDay: optionalCap(2000),
    keyMonth: optionalCap(4000),
    keyTotal: optionalCap(5000),
    accountRequestsPerDay: prng.bool(0.2) ? prng.between(2, 6) : null,
    keyRequestsPerDay: prng.bool(0.2) ? prng.between(2, 6) : null,
  }
}

export class Callers {
  readonly #prng: Prng
  #claims = 0

  constructor(prng: Prng) {
    this.#prng = prng
  }

  /** The next request of a random account. */
  nextRequest(): RequestScript {
    const prng = this.#prng
    const account: Account = prng.pick(accounts)
    const input = prng.between(1, 150)
    const output = prng.between(1, prng.bool(0.3) ? 600 : 150)
    const requestedTokens = prng.bool(0.3) ? prng.between(1, 200) : null
    const maximum = prng.pick(['obeyed', 'obeyed', 'unseen', 'exceeded'] as const)
    const price = prng.bool(0.2) ? { ...nanoPrice, output: 1_500_000n, version: 2 } : nanoPrice
    return {
      options: {
        account,
        key: prng.pick(keys[account]),
        mode: prng.bool(0.75) ? 'stream' : 'non-streaming',
        // The input estimate is sometimes too low.
        inputTokens: Math.ceil(input * (0.8 + prng.next() * 0.4)),
        price,
        factorPpm: prng.bool(0.2) ? 700_000 : 1_000_000,
        requestedTokens,
        maximum,
      },
      // Whatever was seen of it, an upstream may change its mind.
      obeys: prng.bool(maximum === 'obeyed' ? 0.95 : 0.5),
      input,
      output,
      failsAt: prng.bool(0.15) ? prng.below(output) : null,
      claim: prng.bool(0.5) ? this.#claim() : null,
    }
  }

  /** A new key, or one of the latest again: with the same body, or by mistake with another. */
  #claim(): IdempotencyClaim {
    const prng = this.#prng
    const isNew = this.#claims === 0 || prng.bool(0.3)
    if (isNew) this.#claims += 1
    const number = isNew ? this.#claims : prng.between(Math.max(1, this.#claims - 2), this.#claims)
    return { key: `key ${number}`, body: prng.bool(0.1) ? 'another body' : 'the body' }
  }
}
