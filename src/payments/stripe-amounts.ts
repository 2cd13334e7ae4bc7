/**
 * Amounts as Stripe takes and states them: in the minor units of `lib/currency.ts`, as numbers of at most 11 digits.
 * Source: https://docs.stripe.com/currencies, “Three-decimal currencies” and “Special cases”.
 */
import { ProviderError, type RefundFacts } from './payment-method.ts'
import { idOf } from './stripe-client.ts'

/** What amounts must be a multiple of: Stripe takes no thousandths, and only whole units of two currencies. */
const steps: ReadonlyMap<string, bigint> = new Map([
  ...'BHD JOD KWD OMR TND'.split(' ').map((currency) => [currency, 10n] as const),
  ...['ISK', 'UGX'].map((currency) => [currency, 100n] as const),
])

export const stripeStepOf = (currency: string): bigint => steps.get(currency) ?? 1n

/** null: Stripe cannot take this amount. KWD 1010 → 1010, KWD 1005 → null. */
export function toStripeAmount(minor: bigint, currency: string): number | null {
  const amount = Number(minor)
  return Number.isSafeInteger(amount) && minor % stripeStepOf(currency) === 0n ? amount : null
}

/** Throws a `ProviderError` if Stripe states no whole number. */
export function fromStripeAmount(amount: number | null): bigint {
  if (amount === null || !Number.isSafeInteger(amount)) {
    throw new ProviderError('Stripe’s amount is no whole number.')
  }
  return BigInt(amount)
}

interface MovedMoney {
  readonly amount: number
  readonly currency: string
  readonly payment_intent: string | { readonly id: string } | null
  readonly charge: string | { readonly id: string } | null
}

/** What a refund or a dispute moves, and of which payment. */
export function movedBy({ amount, currency, payment_intent: intent, charge }: MovedMoney): RefundFacts {
  return {
    transaction: idOf(intent) ?? idOf(charge) ?? '',
    currency: currency.toUpperCase(),
    amountMinor: fromStripeAmount(amount),
  }
}
