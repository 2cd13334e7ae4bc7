/**
 * Bounds how many connections a listener has open, in all and per client address, so that one client that opens
 * connections and sends nothing cannot use up the file descriptors of the process.
 */
import { readFileSync } from 'node:fs'
import type { Server, Socket } from 'node:net'
import { addressNetwork } from '../../lib/address-network.ts'

/** What a system without /proc allows at least, once Node.js has raised the limit. */
const fallbackOpenFiles = 10_240

/** The maximum number of files and sockets that this process may have open. */
function openFileLimit(): number {
  try {
    const limit = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return limit === undefined ? fallbackOpenFiles : Number(limit)
  } catch {
    return fallbackOpenFiles
  }
}

export interface ConnectionBounds {
  readonly max: number
  readonly maxPerAddress: number
}

/**
 * The bounds of one worker. Half of the descriptors are reserved for upstreams, since a request needs one of each, and
 * for databases and files. `perAddress`: the setting; `null`: a quarter of all.
 */
export function connectionBounds(workers: number, perAddress: number | null): ConnectionBounds {
  const max = Math.max(1, Math.floor(openFileLimit() / 2 / workers))
  return { max, maxPerAddress: perAddress ?? Math.ceil(max / 4) }
}

/** Counts open connections by network: an IPv4 address, or an IPv6 /64. */
export class AddressCounter {
  readonly #max: number
  readonly #counts = new Map<string, number>()

  constructor(max: number) {
    this.#max = max
  }

  /** The number of networks with open connections. */
  get size(): number {
    return this.#counts.size
  }

  /** Counts a connection and returns the function to call, once, when it closes; `null`, without counting: one too many. */
  open(address: string): (() => void) | null {
    const network = addressNetwork(address)
    const count = this.#counts.get(network) ?? 0
    if (count >= this.#max) return null
    this.#counts.set(network, count + 1)
    return () => {
      const remaining = (this.#counts.get(network) ?? 0) - 1
      if (remaining > 0) this.#counts.set(network, remaining)
      else this.#counts.delete(network)
    }
  }
}

export interface ConnectionLimiterOptions extends ConnectionBounds {
  /** Addresses without a bound of their own: many clients share those of proxies. */
  readonly isExempt: (address: string) => boolean
  readonly onRejected: (address: string) => void
}

/** Closes connections beyond the bounds before anything is read from them. Call it when the listener is complete. */
export function limitConnections(listener: Server, options: ConnectionLimiterOptions): void {
  const counter = new AddressCounter(options.maxPerAddress)
  const handlers = listener.listeners('connection')
  listener.maxConnections = options.max
  listener.on('drop', (dropped) => options.onRejected(dropped?.remoteAddress ?? ''))
  listener.removeAllListeners('connection')
  listener.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket
    if (remoteAddress !== undefined && !options.isExempt(remoteAddress)) {
      const close = counter.open(remoteAddress)
      if (close === null) {
        socket.destroy()
        options.onRejected(remoteAddress)
        return
      }
      socket.once('close', close)
    }
    for (const handler of handlers) Reflect.apply(handler, listener, [socket])
  })
}
