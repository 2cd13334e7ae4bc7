/** A way to a server, as a name is that leads to another one after a failover. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

export interface MovingWay {
  readonly url: string
  /** Connections from now on lead there; those that there are stay where they are. */
  leadTo(url: string): void
}

/** Tells the address of the way to the server of a database or of rates. */
export async function openMovingWay(t: TestContext, url: string): Promise<MovingWay> {
  let port = Number(new URL(url).port)
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect({ host: '127.0.0.1', port })
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.pipe(to)
      from.on('error', () => undefined)
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const way = new URL(url)
  way.port = String((server.address() as AddressInfo).port)
  return { url: way.href, leadTo: (other) => (port = Number(new URL(other).port)) }
}
