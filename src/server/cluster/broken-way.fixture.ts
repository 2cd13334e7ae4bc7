/** Ways to PostgreSQL that break around commits, or say everything twice, as they are told. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

/**
 * What becomes of a text that commits: it passes, is lost before the database has it, is done and not heard of, or its
 * sender stands still: nothing more comes from it, and the connection stays.
 */
export type Fate = 'pass' | 'lose' | 'do and lose' | 'stand still'

/** Tells the address of the way to the same database. */
export async function openWay(
  t: TestContext,
  url: string,
  fateOf: () => Fate,
  onCommit: (text: string) => void = () => undefined,
): Promise<string> {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect({ host: '127.0.0.1', port: Number(target.port) })
    const messages = new Messages(onCommit)
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
      messages.take(bytes)
      const fate = bytes.includes(';commit\0') ? fateOf() : 'pass'
      if (fate === 'lose') {
        near.destroy()
        return
      }
      if (fate === 'stand still') return
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

/** What is sent to a database, message by message (PostgreSQL, 55.7 Message Formats): tells texts that commit. */
class Messages {
  readonly #onCommit: (text: string) => void
  #rest = Buffer.alloc(0)
  #hasBegun = false

  constructor(onCommit: (text: string) => void) {
    this.#onCommit = onCommit
  }

  take(bytes: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, bytes])
    for (;;) {
      // Only the first message has no letter in front.
      const letters = this.#hasBegun ? 1 : 0
      if (this.#rest.length < letters + 4) return
      const end = letters + this.#rest.readUInt32BE(letters)
      if (this.#rest.length < end) return
      const isText = this.#hasBegun && this.#rest[0] === 'Q'.charCodeAt(0)
      const text = isText ? this.#rest.toString('utf8', letters + 4, end - 1) : ''
      if (text.endsWith(';commit')) this.#onCommit(text)
      this.#rest = this.#rest.subarray(end)
      this.#hasBegun = true
    }
  }
}
