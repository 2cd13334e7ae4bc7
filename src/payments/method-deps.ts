/** What a payment method is made from. */
import type { Config } from '../config.ts'
import type { ProviderHttp } from './provider-http.ts'

export interface PaymentMethodDeps {
  readonly config: Config
  readonly http: ProviderHttp
  readonly now: () => number
}
