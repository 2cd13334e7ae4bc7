/** TCP proxies between a client and a server, through which tests control the traffic. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** Of a test, or of all tests of a file. */
export interface AfterHook {
  after(close: () => void): void
}

/** Forwards bytes between the client's and the server's socket. */
export type ForwardBytes = (near: Socket, far: Socket) => void

/** Opens a proxy to the current `target` of each new connection and returns its URL. If one side closes, so does the other. */
export async function openTcpProxy(
  t: AfterHook,
  target: () => string,
  forward: ForwardBytes,
): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect({ host: '127.0.0.1', port: Number(new URL(target()).port) })
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one.on('error', () => undefined)
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
    }
    forward(near, far)
  })
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return Object.assign(new URL(target()), { port: String((server.address() as AddressInfo).port) }).href
}

export interface RetargetableProxy {
  readonly url: string
  /** New connections go to `url`; existing connections stay. */
  retarget(url: string): void
}

/** A proxy that, like a DNS name, can lead to another server after a failover. */
export async function openRetargetableProxy(t: AfterHook, url: string): Promise<RetargetableProxy> {
  let target = url
  const proxyUrl = await openTcpProxy(
    t,
    () => target,
    (near, far) => void near.pipe(far).pipe(near),
  )
  return { url: proxyUrl, retarget: (other) => (target = other) }
}
