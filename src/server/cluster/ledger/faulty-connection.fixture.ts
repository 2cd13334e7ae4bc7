/** Ways to PostgreSQL that break around commits, or say everything twice, as they are told. */
import type { Socket } from 'node:net'
import type { TestContext } from 'node:test'
import type { Client, Connection } from 'pg'
import { openWayTo } from '../../../lib/tcp-proxy.fixture.ts'

/**
 * What becomes of a flight that commits: it passes, is lost before the database has it, is done and not heard of, or its
 * sender stands still: nothing more comes from it, and the connection stays.
 */
export type Fate = 'pass' | 'lose' | 'do and lose' | 'stand still'

/** A flight that has committed, with everything that was ever prepared for it in front. */
export interface Recorded {
  readonly bytes: Buffer
  /** Not only rows of refused requests. */
  readonly isOfLedger: boolean
}

/** Tells the address of the way to the same database. */
export function openWay(
  t: TestContext,
  url: string,
  fateOf: () => Fate,
  onCommit: (flight: Recorded) => void = () => undefined,
): Promise<string> {
  return openWayTo(
    t,
    () => url,
    (near, far) => {
      const messages = new Messages(onCommit)
      let isDeaf = false
      far.on('data', (bytes) => {
        if (!isDeaf) near.write(bytes)
      })
      near.on('data', (bytes: Buffer) => {
        messages.take(bytes)
        const fate = bytes.includes('\0commit\0') ? fateOf() : 'pass'
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
    },
  )
}

export interface DeafWay {
  readonly url: string
  /** Connections that there are, and have said this as their name, swallow everything from now on. */
  deafen(name: string): void
}

/** A way to the same database, as a network is that forgets connections and tells nobody. */
export async function openDeafWay(t: TestContext, url: string): Promise<DeafWay> {
  const ways: { near: Socket; far: Socket; name: string }[] = []
  const way = await openWayTo(
    t,
    () => url,
    (near, far) => {
      const known = { near, far, name: '' }
      ways.push(known)
      near.once('data', (bytes: Buffer) => (known.name = bytes.toString('latin1')))
      near.pipe(far).pipe(near)
    },
  )
  return {
    url: way,
    deafen(name) {
      for (const { near, far } of ways.filter((each) => each.name.includes(name)))
        for (const socket of [near, far]) socket.unpipe().resume()
    },
  }
}

const headBytes = 5

/** What is sent to a database, message by message (PostgreSQL, 55.7 Message Formats): tells flights that commit. */
class Messages {
  readonly #onCommit: (flight: Recorded) => void
  readonly #prepared: Buffer[] = []
  #flight: Buffer[] = []
  #rest = Buffer.alloc(0)
  #hasBegun = false

  constructor(onCommit: (flight: Recorded) => void) {
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
      if (this.#hasBegun) this.#add(this.#rest.subarray(0, end))
      this.#rest = this.#rest.subarray(end)
      this.#hasBegun = true
    }
  }

  #add(message: Buffer): void {
    const letter = message.toString('latin1', 0, 1)
    if (letter === 'P') return void this.#prepared.push(message)
    this.#flight.push(message)
    if (letter !== 'S') return
    const flight = this.#flight
    this.#flight = []
    const runs = (name: string): boolean =>
      flight.some((each) => each[0] === 'B'.charCodeAt(0) && each.indexOf(`\0${name}\0`) === headBytes)
    if (!runs('commit')) return
    this.#onCommit({ bytes: Buffer.concat([...this.#prepared, ...flight]), isOfLedger: runs('journal') })
  }
}

/** Says a flight again, word for word, in a transaction of another connection. */
export async function replay(client: Client, { bytes }: Recorded): Promise<void> {
  await client.query('deallocate all')
  await client.query('begin')
  await new Promise<void>((resolve, reject) => {
    client.query({
      submit: ({ stream }: Connection) => void stream.write(bytes),
      callback: () => undefined,
      handleDataRow: () => undefined,
      handleCommandComplete: () => undefined,
      handleCopyInResponse: () => undefined,
      handleReadyForQuery: () => resolve(),
      handleError: reject,
    })
  })
}
