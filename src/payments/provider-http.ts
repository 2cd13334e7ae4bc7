/** Requests to payment providers: only by https, except to literal addresses that `PAYMENT_ALLOW` lists. */
import { forbiddenReason, parseCidrs, parseHostLiteral, type Cidr } from '../lib/address-guard.ts'
import { errorCode } from '../lib/error-message.ts'
import { GuardedHttp, type GuardedRequest, type GuardedResponse } from '../lib/guarded-http.ts'
import { NoResponseError, ProviderError } from './payment-method.ts'

const timeoutMs = 20_000
const maxResponseBytes = 1024 ** 2

/** Whether http is accepted in place of https: the host is a literal address that the operator listed. */
export function mayUseHttp(url: string, allow: readonly Cidr[]): boolean {
  const literal = parseHostLiteral(new URL(url).hostname)
  return literal !== null && forbiddenReason(literal, []) !== null && forbiddenReason(literal, allow) === null
}

export class ProviderHttp implements AsyncDisposable {
  readonly #http: GuardedHttp
  readonly #allow: readonly Cidr[]

  /** `allow`: the setting PAYMENT_ALLOW. */
  constructor(allow: readonly string[]) {
    this.#allow = parseCidrs(allow.join(','))
    this.#http = new GuardedHttp(this.#allow, timeoutMs)
  }

  /** The response, whatever its status. Throws a `ProviderError` that contains no part of the URL's query, if there is none. */
  async request({
    maxBytes = maxResponseBytes,
    ...request
  }: Omit<GuardedRequest, 'maxBytes'> & { readonly maxBytes?: number }): Promise<GuardedResponse> {
    const { url } = request
    const { protocol, host } = new URL(url)
    if (protocol !== 'https:' && !mayUseHttp(url, this.#allow))
      throw new ProviderError(`${host} must be asked by https.`)
    const response = await this.#http.request({ ...request, maxBytes }).catch((error: unknown) => {
      throw new NoResponseError(`${host} did not respond (${errorCode(error) ?? 'no connection'}).`)
    })
    if (response.isCut) throw new ProviderError(`The response of ${host} is too large.`)
    return response
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#http[Symbol.asyncDispose]()
  }
}
