/** Stripe's method and its scripted server, with a clock that tests set. */
import type { PaymentMethod } from '../../../src/payments/payment-method.ts'
import { createStripe } from '../../../src/payments/stripe.ts'
import { openWith } from './method-fixture.ts'
import { StripeServer } from './stripe-server.ts'

export interface OpenStripe extends AsyncDisposable {
  readonly method: PaymentMethod
  readonly provider: StripeServer
  /** Milliseconds since 1970, for both. */
  readonly clock: { now: number }
}

export async function openStripe(settings: Readonly<Record<string, string>> = {}): Promise<OpenStripe> {
  const clock = { now: Date.now() }
  const now = (): number => clock.now
  return { ...openWith(await StripeServer.start(now), createStripe, { settings, now }), clock }
}
