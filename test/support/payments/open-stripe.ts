/** Stripe's method and its scripted server, with a clock that tests set. */
import assert from 'node:assert/strict'
import { readConfig } from '../../../src/config.ts'
import type { PaymentMethod } from '../../../src/payments/payment-method.ts'
import { ProviderHttp } from '../../../src/payments/provider-http.ts'
import { createStripe } from '../../../src/payments/stripe.ts'
import { StripeServer } from './stripe-server.ts'

export interface OpenStripe extends AsyncDisposable {
  readonly method: PaymentMethod
  readonly provider: StripeServer
  /** Milliseconds since 1970, for both. */
  readonly clock: { now: number }
}

export async function openStripe(settings: Readonly<Record<string, string>> = {}): Promise<OpenStripe> {
  const clock = { now: Date.now() }
  const provider = await StripeServer.start(() => clock.now)
  const config = readConfig({ ...provider.settings, ...settings })
  const http = new ProviderHttp(config.paymentAllow)
  const method = createStripe({ config, currency: 'CNY', http, now: () => clock.now })
  assert.ok(method)
  return {
    method,
    provider,
    clock,
    async [Symbol.asyncDispose]() {
      await http[Symbol.asyncDispose]()
      await provider[Symbol.asyncDispose]()
    },
  }
}
