/**
 * Tells other nodes which upstreams with health checks are in use here, so that the leader checks only those that are idle
 * on all nodes. Messages may be lost: the cost is one unnecessary check.
 */
import type { UpstreamHealth } from '../relay/upstreams/upstream-health.ts'

const checkEveryMs = 250
/** How often a message is sent within the time after which an upstream counts as idle. */
const sendsPerIdlePeriod = 3

/** The circuit keys in it; none if it is not a traffic message. */
function parseMessage(text: string): readonly string[] {
  const message: unknown = JSON.parse(text)
  if (typeof message !== 'object' || message === null || !('inUse' in message)) return []
  return Array.isArray(message.inUse) ? message.inUse.map(String) : []
}

export class TrafficBroadcast {
  readonly #send: (text: string) => void
  #health: UpstreamHealth | null = null
  #timer: NodeJS.Timeout | undefined
  /** When each key was last sent. */
  readonly #sentAt = new Map<string, number>()

  constructor(send: (text: string) => void) {
    this.#send = send
  }

  /** From now on the other nodes learn of calls at this node. */
  attach(health: UpstreamHealth): void {
    this.#health = health
    this.#timer = setInterval(() => this.#sendChanged(health), checkEveryMs)
    this.#timer.unref()
  }

  onMessage(text: string): void {
    for (const route of parseMessage(text)) this.#health?.breakers.recordRemoteUse(route)
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
      this.#send(JSON.stringify({ inUse: [route] }))
    }
  }
}
