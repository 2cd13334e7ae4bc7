/** Prices of the simulation. */
import type { Price } from '../src/ledger/price.ts'

/** One nano-yuan a token, both ways. */
export const nanoPrice: Price = {
  version: 1,
  input: 1_000_000n,
  output: 1_000_000n,
  cachedInput: null,
  cacheWrite: null,
  reasoning: null,
  perRequest: 0n,
}
