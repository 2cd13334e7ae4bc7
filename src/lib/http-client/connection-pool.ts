/**
 * The connection pool: idle connections by origin. The most recently used connection is reused first, so that the
 * others can expire. A connection is never reused after the server may have closed it.
 */

/** What the pool needs from a connection. */
export interface PooledConnection {
  readonly originKey: string
  readonly isUsable: boolean
  /** In milliseconds of `performance.now()`; set by the pool. */
  expiresAt: number
  destroy(): void
}

export interface ConnectionPoolBounds {
  readonly maxIdlePerOrigin: number
  /** How long a connection may stay idle; a shorter `Keep-Alive: timeout` of the server takes precedence. */
  readonly idleMs: number
}

/** A request sent just before the keep-alive timeout could cross the server's close on the wire. */
const keepAliveMarginMs = 1000

export class ConnectionPool<Connection extends PooledConnection> {
  #idle = new Map<string, Connection[]>()
  readonly #bounds: ConnectionPoolBounds
  #sweepTimer: NodeJS.Timeout | null = null
  #isClosed = false

  constructor(bounds: ConnectionPoolBounds) {
    this.#bounds = bounds
  }

  get idleCount(): number {
    let count = 0
    for (const connections of this.#idle.values()) count += connections.length
    return count
  }

  acquire(originKey: string): Connection | null {
    const connections = this.#idle.get(originKey)
    if (connections === undefined) return null
    const now = performance.now()
    for (let connection = connections.pop(); connection !== undefined; connection = connections.pop()) {
      if (connection.isUsable && connection.expiresAt > now) return connection
      connection.destroy()
    }
    return null
  }

  /** @param keepAliveMs the server's keep-alive timeout */
  release(connection: Connection, keepAliveMs: number): void {
    const waitMs = Math.min(this.#bounds.idleMs, keepAliveMs - keepAliveMarginMs)
    if (this.#isClosed || waitMs <= 0) return connection.destroy()
    connection.expiresAt = performance.now() + waitMs
    const connections = this.#idle.get(connection.originKey)
    if (connections === undefined) this.#idle.set(connection.originKey, [connection])
    else {
      connections.push(connection)
      if (connections.length > this.#bounds.maxIdlePerOrigin) connections.shift()?.destroy()
    }
    this.#sweepTimer ??= setInterval(() => this.#sweep(), Math.min(this.#bounds.idleMs, 1000)).unref()
  }

  /** Removes a connection that closed while it was idle. */
  remove(connection: Connection): void {
    const connections = this.#idle.get(connection.originKey)
    const at = connections?.indexOf(connection) ?? -1
    if (at !== -1) connections?.splice(at, 1)
  }

  /** Closes all idle connections; connections released later are closed at once. */
  close(): void {
    this.#isClosed = true
    for (const connections of this.#idle.values())
      for (const connection of connections.splice(0)) connection.destroy()
    this.#sweep()
  }

  #sweep(): void {
    const now = performance.now()
    for (const [key, connections] of this.#idle) {
      if (connections.length === 0) this.#idle.delete(key)
      for (const connection of connections.filter(({ expiresAt }) => expiresAt <= now)) {
        this.remove(connection)
        connection.destroy()
      }
    }
    if (this.#idle.size > 0 || this.#sweepTimer === null) return
    clearInterval(this.#sweepTimer)
    this.#sweepTimer = null
  }
}
