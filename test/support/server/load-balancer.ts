/**
 * A balancer for stories: passes each connection on to the next node that says it is ready, and asks them all again and
 * again. Nothing is ever sent twice; a node that cannot be connected to is passed over.
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

const lookEveryMs = 50
const lookPatienceMs = 2000
const findPatienceMs = 10_000

export interface Balancer {
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

  async look(): Promise<void> {
    const signal = AbortSignal.timeout(lookPatienceMs)
    const headers = { connection: 'close' }
    const status = await fetch(`${this.#url}/readyz`, { signal, headers }).then(
      (reply) => reply.status,
      () => 0,
    )
    this.isReady = status === 200
  }

  /** Null where it does not listen. */
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

/** Opens one for a test, which closes it at its end. */
export async function openBalancer(t: TestContext, urls: readonly string[]): Promise<Balancer> {
  const backends = urls.map((url) => new Backend(url))
  let turn = 0
  /** The next that is ready; where none is, any that listens tells why. */
  async function find(): Promise<Socket | null> {
    for (const start = performance.now(); performance.now() - start < findPatienceMs; await delay(20)) {
      turn += 1
      const inTurn = backends.map((_, index) => backends[(turn + index) % backends.length])
      const ready = inTurn.filter((backend) => backend?.isReady)
      for (const backend of ready.length > 0 ? ready : inTurn) {
        const socket = await backend?.connect()
        if (socket) return socket
      }
    }
    return null
  }
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (near) => {
    void find().then((far) => {
      if (far === null) {
        near.destroy()
        return
      }
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(socket)
        socket.on('error', () => other.destroy())
        socket.on('close', () => sockets.delete(socket))
        socket.pipe(other)
      }
    })
  })
  const watch = { isOver: false }
  const watching = backends.map(async (backend) => {
    for (; !watch.isOver; await delay(lookEveryMs)) await backend.look()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(async () => {
    watch.isOver = true
    for (const socket of sockets) socket.destroy()
    server.close()
    await Promise.all(watching)
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}
