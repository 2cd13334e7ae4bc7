/** Proxies in front of PostgreSQL that break connections around commits, and pipelines that can be sent twice. */
import type { Socket } from 'node:net'
import type { TestContext } from 'node:test'
import type { Client, Connection } from 'pg'
import { openTcpProxy, type AfterHook } from '../../lib/tcp-proxy.fixture.ts'
import { scriptedDelay } from '../../../test/support/wait.ts'

/**
 * What happens to a pipeline that commits: it passes, is dropped before the database has it, is committed while its
 * response is dropped, or stalls: the sender sends nothing more, and the connection stays open.
 */
export type CommitFault = 'pass' | 'drop' | 'commit and drop' | 'stall'

/** A pipeline that has committed, preceded by every statement that was prepared for it. */
export interface RecordedPipeline {
  readonly bytes: Buffer
  /** It changed the ledger, and did not only write rows of rejected requests. */
  readonly isOfLedger: boolean
}

/** Returns the URL of a proxy in front of the same database. */
export function openFaultyProxy(
  t: TestContext,
  url: string,
  nextFault: () => CommitFault,
  onCommit: (pipeline: RecordedPipeline) => void = () => undefined,
): Promise<string> {
  return openTcpProxy(
    t,
    () => url,
    (near, far) => {
      const messages = new PipelineRecorder(onCommit)
      let isMuted = false
      far.on('data', (bytes) => {
        if (!isMuted) near.write(bytes)
      })
      near.on('data', (bytes: Buffer) => {
        messages.onData(bytes)
        const fault = bytes.includes('\0commit\0') ? nextFault() : 'pass'
        if (fault === 'drop') {
          near.destroy()
          return
        }
        if (fault === 'stall') return
        far.write(bytes)
        if (fault === 'pass') return
        isMuted = true
        void scriptedDelay(40).then(() => near.destroy())
      })
    },
  )
}

export interface BlackholeProxy {
  readonly url: string
  /** From now on, open connections with this name drop everything. */
  blackhole(name: string): void
}

/** A proxy in front of the same database that can act like a network that silently drops connections. */
export async function openBlackholeProxy(t: AfterHook, url: string): Promise<BlackholeProxy> {
  const connections: { near: Socket; far: Socket; name: string }[] = []
  const proxyUrl = await openTcpProxy(
    t,
    () => url,
    (near, far) => {
      const known = { near, far, name: '' }
      connections.push(known)
      near.once('data', (bytes: Buffer) => (known.name = bytes.toString('latin1')))
      near.pipe(far).pipe(near)
    },
  )
  return {
    url: proxyUrl,
    blackhole(name) {
      for (const { near, far } of connections.filter((each) => each.name.includes(name)))
        for (const socket of [near, far]) socket.unpipe().resume()
    },
  }
}

const headBytes = 5

/** Splits what is sent to a database into messages (PostgreSQL, 55.7 Message Formats), and reports pipelines that commit. */
class PipelineRecorder {
  readonly #onCommit: (pipeline: RecordedPipeline) => void
  readonly #prepared: Buffer[] = []
  #pipeline: Buffer[] = []
  #rest = Buffer.alloc(0)
  #hasBegun = false

  constructor(onCommit: (pipeline: RecordedPipeline) => void) {
    this.#onCommit = onCommit
  }

  onData(bytes: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, bytes])
    for (;;) {
      // Only the first message has no type byte.
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
    this.#pipeline.push(message)
    if (letter !== 'S') return
    const pipeline = this.#pipeline
    this.#pipeline = []
    const runs = (name: string): boolean =>
      pipeline.some((each) => each[0] === 'B'.charCodeAt(0) && each.indexOf(`\0${name}\0`) === headBytes)
    if (!runs('commit')) return
    this.#onCommit({ bytes: Buffer.concat([...this.#prepared, ...pipeline]), isOfLedger: runs('journal') })
  }
}

/** Sends a pipeline again, byte for byte, in a transaction of another connection. */
export async function replayPipeline(client: Client, { bytes }: RecordedPipeline): Promise<void> {
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
