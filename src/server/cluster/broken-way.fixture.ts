/** A way to PostgreSQL that breaks around commits, as it is told. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

/** What becomes of a text that commits: it passes, is lost before the database has it, or is done and not heard of. */
export type Fate = 'pass' | 'lose' | 'do and lose'

/** Tells the address of the way to the same database. */
export async function openWay(t: TestContext, url: string, fateOf: () => Fate): Promise<string> {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect({ host: '127.0.0.1', port: Number(target.port) })
    let isDeaf = false
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        near.destroy()
        far.destroy()
      })
    }
    far.on('data', (bytes) => {
      if (!isDeaf) near.write(bytes)
    })
    near.on('data', (bytes: Buffer) => {
      const fate = bytes.includes(';commit\0') ? fateOf() : 'pass'
      if (fate === 'lose') {
        near.destroy()
        return
      }
      far.write(bytes)
      if (fate === 'pass') return
      isDeaf = true
      setTimeout(() => near.destroy(), 40)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const way = new URL(url)
  way.port = String((server.address() as AddressInfo).port)
  return way.href
}
