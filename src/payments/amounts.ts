/** What an order credits: its amount less the fee, at the currency's rate. Everything is exact. */
import type { PaymentFee } from '../config/payments.ts'
import { invalidField } from '../errors.ts'
import { formatMinor, minorDigitsOf, parseMinor } from '../lib/currency.ts'

const million = 1_000_000n
const nanosPerUnit = 1_000_000_000n

const divideUp = (value: bigint, divisor: bigint): bigint => (value + divisor - 1n) / divisor

/** The fee in an amount that includes it, rounded up to a multiple of `step`, by default to the minor unit. */
export function feeOf(amountMinor: bigint, fee: PaymentFee | undefined, currency: string, step = 1n): bigint {
  if (fee === undefined) return 0n
  const exact = divideUp(amountMinor * BigInt(fee.percentPpm), million) + parseMinor(fee.fixed, currency)
  return divideUp(exact, step) * step
}

/** Throws 400 naming `amount`: the provider can neither take nor refund it. */
export function requireMultiple(amountMinor: bigint, step: bigint, currency: string): void {
  if (amountMinor % step === 0n) return
  throw invalidField('amount', `must be a multiple of ${formatMinor(step, currency)} ${currency}`)
}

/**
 * Nanos of the platform's currency for an amount without its fee, rounded down. `ratePpm`: millionths of the platform's
 * currency per unit. 1,000 US cents at 7.1 are 71,000,000,000 nanos.
 */
export function creditOf(minor: bigint, ratePpm: number, currency: string): bigint {
  return (minor * BigInt(ratePpm) * nanosPerUnit) / (million * 10n ** BigInt(minorDigitsOf(currency)))
}
