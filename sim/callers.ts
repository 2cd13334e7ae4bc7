/**
 * The callers of a simulated node: random accounts with caps, and random requests, some of which repeat
 * earlier ones.
 */
import type { Caps } from '../src/ledger/caps.ts'
import type { IdempotencyClaim } from '../src/ledger/events.ts'
import type { Prng } from './prng.ts'
import type { Price } from '../src/ledger/price.ts'
import type { RequestScript } from './request-script.ts'

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

/** The caps of each account and key. All keys of an account share the account's. */
export function drawCaps(prng: Prng): ReadonlyMap<string, Caps> {
  const caps = new Map<string, Caps>()
  for (const account of accounts)
    for (const key of ['', ...keys[account]]) caps.set(account + key, drawCapsOf(prng))
  for (const account of accounts) {
    const own = caps.get(account)
    if (!own) continue
    const { accountDay, accountMonth, accountRequestsPerDay } = own
    for (const key of keys[account]) {
      const ofKey = caps.get(account + key) ?? own
      caps.set(account + key, { ...ofKey, accountDay, accountMonth, accountRequestsPerDay })
    }
  }
  return caps
}

function drawCapsOf(prng: Prng): Caps {
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
    const isStream = prng.bool(0.75)
    const offered = prng.bool(0.25) ? prng.between(1, 3) : 0
    // Some upstreams search more often than they may.
    const searches = prng.between(0, offered + (prng.bool(0.2) ? 2 : 0))
    const tokenPrice = prng.bool(0.2) ? { ...nanoPrice, output: 1_500_000n, version: 2 } : nanoPrice
    const price = offered > 0 ? { ...tokenPrice, perSearch: 40n, version: 3 } : tokenPrice
    return {
      options: {
        account,
        key: prng.pick(keys[account]),
        mode: isStream ? 'stream' : 'non-streaming',
        // The input estimate is sometimes too low.
        inputTokens: Math.ceil(input * (0.8 + prng.next() * 0.4)),
        price,
        factorPpm: prng.bool(0.2) ? 700_000 : 1_000_000,
        requestedTokens,
        searches: isStream ? Math.min(offered, 1) : offered,
        maximum,
      },
      offered,
      searchesAt: Array.from({ length: searches }, () => prng.below(output)).toSorted((a, b) => a - b),
      leavesEarly: prng.bool(0.08),
      hasBegun: prng.bool(0.7),
      // Whatever was seen of it, an upstream may change its mind.
      obeys: prng.bool(maximum === 'obeyed' ? 0.95 : 0.5),
      reportsMore: prng.bool(0.7) ? 0 : prng.pick([1, 1, 8, 400]),
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
