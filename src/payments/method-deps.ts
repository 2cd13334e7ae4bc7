/** What a payment method is made from. */
import type { Config } from '../config.ts'
import type { ProviderHttp } from './provider-http.ts'

export interface PaymentMethodDeps {
  readonly config: Config
  /** The platform's. */
  readonly currency: string
  readonly http: ProviderHttp
  readonly now: () => number
}
