/** Ways to a server that tests stand in: what is said on them passes on as they are told. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

/** Passes on what comes from one end to the other. */
export type Carry = (near: Socket, far: Socket) => void

/** Opens a way to wherever `target` leads when somebody comes; tells its address. One end that closes closes the other. */
export async function openWayTo(t: TestContext, target: () => string, carry: Carry): Promise<string> {
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
    carry(near, far)
  })
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return Object.assign(new URL(target()), { port: String((server.address() as AddressInfo).port) }).href
}

export interface MovingWay {
  readonly url: string
  /** Connections from now on lead there; those that there are stay where they are. */
  leadTo(url: string): void
}

/** A way as a name is that leads to another server after a failover. */
export async function openMovingWay(t: TestContext, url: string): Promise<MovingWay> {
  let target = url
  const way = await openWayTo(
    t,
    () => target,
    (near, far) => void near.pipe(far).pipe(near),
  )
  return { url: way, leadTo: (other) => (target = other) }
}
