/**
 * Counts notices with wrong signatures: after a rotation the secret may be wrong, so operators are notified of many. Anyone
 * can send such notices, so what they cause is bounded, for each network and for all together.
 */
import { addressNetwork } from '../../lib/address-network.ts'
import type { MethodName } from '../../payments/payment-method.ts'

const hour = 3_600_000
/** Of one method, within an hour. */
const forgedToNotify = 10
/** Of one method, within an hour. */
const maxLinesPerHour = 100
/** Of one method and network, within an hour: alone, it causes that many lines and one notification. */
const countedPerNetwork = 10
/** Beyond these, the network that was seen first is forgotten. */
const maxNetworks = 10_000

export interface ForgedNoticeEffect {
  readonly isLogged: boolean
  readonly isNotified: boolean
}

export class ForgedNotices {
  readonly #networks = new Map<string, { readonly since: number; count: number }>()
  readonly #recent = new Map<MethodName, number[]>()
  /** The hour of the last notification. */
  readonly #notified = new Map<MethodName, number>()

  /** `address`: of the sender. */
  count(method: MethodName, address: string, now: number): ForgedNoticeEffect {
    if (!this.#countNetwork(`${method} ${addressNetwork(address)}`, now))
      return { isLogged: false, isNotified: false }
    const recent = (this.#recent.get(method) ?? []).filter((at) => at > now - hour)
    recent.push(now)
    this.#recent.set(method, recent.slice(-maxLinesPerHour - 1))
    const isNotified =
      recent.length >= forgedToNotify && this.#notified.get(method) !== Math.floor(now / hour)
    if (isNotified) this.#notified.set(method, Math.floor(now / hour))
    return { isLogged: recent.length <= maxLinesPerHour, isNotified }
  }

  /** Whether the network has not used up its share. */
  #countNetwork(name: string, now: number): boolean {
    const known = this.#networks.get(name)
    const counted = known !== undefined && known.since > now - hour ? known : { since: now, count: 0 }
    counted.count += 1
    if (counted === known) return counted.count <= countedPerNetwork
    this.#networks.delete(name)
    this.#networks.set(name, counted)
    const [oldest] = this.#networks.keys()
    if (this.#networks.size > maxNetworks && oldest !== undefined) this.#networks.delete(oldest)
    return true
  }
}
