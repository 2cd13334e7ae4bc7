/**
 * Connections that wait for their next request, per origin. The one used last is taken first, so that the others may
 * grow old and close; none is taken after the time at which its other side may have closed it.
 */

/** What the pool needs of a connection. */
export interface Idle {
  readonly originKey: string
  readonly isUsable: boolean
  /** In milliseconds of `performance.now()`; set by the pool. */
  expiresAt: number
  drop(): void
}

export interface PoolBounds {
  readonly maxIdlePerOrigin: number
  readonly idleMs: number
}

/** Servers close on their side of the wire: a request sent in the last moment would meet the close on its way. */
const marginMs = 1000

export class Pool<Connection extends Idle> {
  #idle = new Map<string, Connection[]>()
  readonly #bounds: PoolBounds
  #sweeper: NodeJS.Timeout | null = null
  #isClosed = false

  constructor(bounds: PoolBounds) {
    this.#bounds = bounds
  }

  get idleCount(): number {
    let count = 0
    for (const connections of this.#idle.values()) count += connections.length
    return count
  }

  take(originKey: string): Connection | null {
    const connections = this.#idle.get(originKey)
    if (connections === undefined) return null
    const now = performance.now()
    for (let connection = connections.pop(); connection !== undefined; connection = connections.pop()) {
      if (connection.isUsable && connection.expiresAt > now) return connection
      connection.drop()
    }
    return null
  }

  /** @param keepAliveMs how long the other side said it will wait */
  put(connection: Connection, keepAliveMs: number): void {
    const waitMs = Math.min(this.#bounds.idleMs, keepAliveMs - marginMs)
    if (this.#isClosed || waitMs <= 0) return connection.drop()
    connection.expiresAt = performance.now() + waitMs
    const connections = this.#idle.get(connection.originKey)
    if (connections === undefined) this.#idle.set(connection.originKey, [connection])
    else {
      connections.push(connection)
      if (connections.length > this.#bounds.maxIdlePerOrigin) connections.shift()?.drop()
    }
    this.#sweeper ??= setInterval(() => this.#sweep(), Math.min(this.#bounds.idleMs, 1000)).unref()
  }

  /** Forgets a connection that closed while it waited. */
  remove(connection: Connection): void {
    const connections = this.#idle.get(connection.originKey)
    const at = connections?.indexOf(connection) ?? -1
    if (at !== -1) connections?.splice(at, 1)
  }

  /** Drops all that wait; what is put from now on is dropped at once. */
  close(): void {
    this.#isClosed = true
    for (const connections of this.#idle.values())
      for (const connection of connections.splice(0)) connection.drop()
    this.#sweep()
  }

  #sweep(): void {
    const now = performance.now()
    for (const [key, connections] of this.#idle) {
      const isStale = (connection: Connection): boolean => connection.expiresAt <= now
      if (connections.some(isStale)) {
        const stale = connections.filter(isStale)
        this.#idle.set(
          key,
          connections.filter((connection) => !isStale(connection)),
        )
        for (const connection of stale) connection.drop()
      } else if (connections.length === 0) this.#idle.delete(key)
    }
    if (this.#idle.size > 0 || this.#sweeper === null) return
    clearInterval(this.#sweeper)
    this.#sweeper = null
  }
}
