/** Webhooks without a valid signature, by network: beyond a limit, those of a network are not read for a while. */
import { addressNetwork } from '../lib/address-network.ts'

const windowMs = 60_000
/** Far more than a provider sends while its secret is wrong. */
const maxFailures = 60
/** Beyond these, the network that was seen first is forgotten. */
const maxNetworks = 10_000

export class FailedWebhooks {
  readonly #networks = new Map<string, { readonly since: number; count: number }>()

  isBlocked(address: string, now: number): boolean {
    const known = this.#networks.get(addressNetwork(address))
    return known !== undefined && known.since > now - windowMs && known.count >= maxFailures
  }

  count(address: string, now: number): void {
    const network = addressNetwork(address)
    const known = this.#networks.get(network)
    if (known !== undefined && known.since > now - windowMs) {
      known.count += 1
      return
    }
    this.#networks.delete(network)
    this.#networks.set(network, { since: now, count: 1 })
    const [oldest] = this.#networks.keys()
    if (this.#networks.size > maxNetworks && oldest !== undefined) this.#networks.delete(oldest)
  }
}
