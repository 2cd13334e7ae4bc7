/** What an order credits: its amount less the fee, at the currency's rate. Everything is exact. */
import type { PaymentFee } from '../config/payments.ts'
import { minorDigitsOf, parseMinor } from '../lib/currency.ts'

const million = 1_000_000n
const nanosPerUnit = 1_000_000_000n

const divideUp = (value: bigint, divisor: bigint): bigint => (value + divisor - 1n) / divisor

/** The fee in an amount that includes it, rounded up to the minor unit. */
export function feeOf(amountMinor: bigint, fee: PaymentFee | undefined, currency: string): bigint {
  if (fee === undefined) return 0n
  return divideUp(amountMinor * BigInt(fee.percentPpm), million) + parseMinor(fee.fixed, currency)
}

/**
 * Nanos of the platform's currency for an amount without its fee, rounded down. `ratePpm`: millionths of the platform's
 * currency per unit. 1,000 US cents at 7.1 are 71,000,000,000 nanos.
 */
export function creditOf(minor: bigint, ratePpm: number, currency: string): bigint {
  return (minor * BigInt(ratePpm) * nanosPerUnit) / (million * 10n ** BigInt(minorDigitsOf(currency)))
}
