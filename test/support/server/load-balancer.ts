/**
 * A TCP load balancer: forwards each connection to the next node whose `/readyz` returns 200. It checks all nodes
 * continuously, skips a node that refuses the connection, and never sends anything twice.
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { scriptedDelay, waitUntil } from '../wait.ts'

const checkIntervalMs = 50
const checkTimeoutMs = 10_000
const connectTimeoutMs = 60_000

export interface LoadBalancer {
  readonly url: string
}

class Backend {
  readonly #url: string
  readonly port: number
  isReady = true

  constructor(url: string) {
    this.#url = url
    this.port = Number(new URL(url).port)
  }

  async checkReadiness(): Promise<void> {
    const signal = AbortSignal.timeout(checkTimeoutMs)
    const headers = { connection: 'close' }
    const status = await fetch(`${this.#url}/readyz`, { signal, headers }).then(
      (response) => response.status,
      () => 0,
    )
    this.isReady = status === 200
  }

  /** Null if the node is not listening. */
  connect(): Promise<Socket | null> {
    const { promise, resolve } = Promise.withResolvers<Socket | null>()
    const socket = connect({ host: '127.0.0.1', port: this.port, allowHalfOpen: true }, () => resolve(socket))
    socket.once('error', () => {
      this.isReady = false
      resolve(null)
    })
    return promise
  }
}

/** Starts one for a test and closes it afterwards. */
export async function startLoadBalancer(t: TestContext, urls: readonly string[]): Promise<LoadBalancer> {
  const backends = urls.map((url) => new Backend(url))
  let nextIndex = 0
  /** Connects to the next ready node; if none is ready, to any that listens, since its response says why. */
  async function connectToBackend(): Promise<Socket | null> {
    nextIndex += 1
    const candidates = backends.map((_, index) => backends[(nextIndex + index) % backends.length])
    const ready = candidates.filter((backend) => backend?.isReady)
    for (const backend of ready.length > 0 ? ready : candidates) {
      const socket = await backend?.connect()
      if (socket) return socket
    }
    return null
  }
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
    void waitUntil(connectToBackend, 'a backend', connectTimeoutMs).then(
      (backend) => {
        for (const [socket, other] of [
          [client, backend],
          [backend, client],
        ] as const) {
          sockets.add(socket)
          socket.on('error', () => other.destroy())
          socket.on('close', () => sockets.delete(socket))
          socket.pipe(other)
        }
      },
      () => client.destroy(),
    )
  })
  const checks = { isStopped: false }
  const running = backends.map(async (backend) => {
    for (; !checks.isStopped; await scriptedDelay(checkIntervalMs)) await backend.checkReadiness()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(async () => {
    checks.isStopped = true
    for (const socket of sockets) socket.destroy()
    server.close()
    await Promise.all(running)
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}
