/**
 * Tells other nodes which upstreams with health checks are in use here, so that the leader checks only those that are idle
 * on all nodes. Messages may be lost: the cost is one unnecessary check.
 */
import type { BroadcastMessage } from './broadcasts.ts'
import type { UpstreamHealth } from '../relay/upstreams/upstream-health.ts'

const checkEveryMs = 250
/** How often a message is sent within the time after which an upstream counts as idle. */
const sendsPerIdlePeriod = 3

export class TrafficBroadcast {
  readonly #health: UpstreamHealth
  readonly #send: (text: string) => void
  readonly #timer: NodeJS.Timeout
  /** When each key was last sent. */
  readonly #sentAt = new Map<string, number>()

  constructor(health: UpstreamHealth, send: (text: string) => void) {
    this.#health = health
    this.#send = send
    this.#timer = setInterval(() => this.#sendChanged(health), checkEveryMs)
    this.#timer.unref()
  }

  onMessage({ inUse }: BroadcastMessage): void {
    if (Array.isArray(inUse)) for (const route of inUse) this.#health.breakers.recordRemoteUse(String(route))
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #sendChanged(health: UpstreamHealth): void {
    const now = Date.now()
    for (const { route, idleMs } of health.checkedRoutes()) {
      const lastSentAt = this.#sentAt.get(route) ?? 0
      if (health.breakers.lastCallAt(route) <= lastSentAt || now - lastSentAt < idleMs / sendsPerIdlePeriod)
        continue
      this.#sentAt.set(route, now)
      // One message each, because messages have a maximum size.
      this.#send(JSON.stringify({ inUse: [route] } satisfies BroadcastMessage))
    }
  }
}
