/** Who calls a simulated node, drawn by chance: accounts with their caps, and requests, some of which repeat others. */
import type { Caps } from '../src/ledger/caps.ts'
import type { Claim } from '../src/ledger/events.ts'
import type { Chance } from './prng.ts'
import { nanoPrice } from './prices.ts'
import type { Script } from './request.ts'

export const accounts = ['a0', 'a1'] as const
export const keys = { a0: ['k0', 'k1'], a1: ['k2'] } as const

type Account = (typeof accounts)[number]

export function drawCaps(chance: Chance): Caps {
  const maybe = (most: number): bigint | null =>
    chance.happens(0.4) ? BigInt(chance.between(50, most)) : null
  return {
    accountDay: maybe(2000),
    accountMonth: maybe(4000),
    keyDay: maybe(2000),
    keyMonth: maybe(4000),
    keyTotal: maybe(5000),
    accountRequestsPerDay: chance.happens(0.2) ? chance.between(2, 6) : null,
    keyRequestsPerDay: chance.happens(0.2) ? chance.between(2, 6) : null,
  }
}

export class Callers {
  readonly #chance: Chance
  #claims = 0

  constructor(chance: Chance) {
    this.#chance = chance
  }

  /** The next request, whoever's it is. */
  ask(): Script {
    const chance = this.#chance
    const account: Account = chance.pick(accounts)
    const input = chance.between(1, 150)
    const output = chance.between(1, chance.happens(0.3) ? 600 : 150)
    const price = chance.happens(0.2) ? { ...nanoPrice, output: 1_500_000n, version: 2 } : nanoPrice
    return {
      terms: {
        account,
        key: chance.pick(keys[account]),
        manner: chance.happens(0.75) ? 'stream' : 'whole',
        // The estimate is sometimes too low.
        inputTokens: Math.ceil(input * (0.8 + chance.next() * 0.4)),
        price,
        factorPpm: chance.happens(0.2) ? 700_000 : 1_000_000,
      },
      input,
      output,
      failsAt: chance.happens(0.15) ? chance.below(output) : null,
      claim: chance.happens(0.5) ? this.#claim() : null,
    }
  }

  /** A new key, or one of the last few once more: for the same body, or by mistake for another. */
  #claim(): Claim {
    const chance = this.#chance
    const isNew = this.#claims === 0 || chance.happens(0.3)
    if (isNew) this.#claims += 1
    const number = isNew ? this.#claims : chance.between(Math.max(1, this.#claims - 2), this.#claims)
    return { key: `key ${number}`, body: chance.happens(0.1) ? 'another body' : 'the body' }
  }
}
