/**
 * One HTTP exchange over node:http, as the relay sees a caller. Streams are framed here, so that each event is one
 * write: node's own chunking makes three of it.
 */
import type { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { CallerExchange } from '../../relay/exchange.ts'

const mostJoinedBytes = 65_536
const lineEnd = Buffer.from('\r\n')

export class NodeExchange implements CallerExchange {
  readonly #response: ServerResponse
  readonly #common: readonly string[]
  #isChunked = false
  /** Begun while an earlier answer of the connection still goes out: node keeps what it says, and frames it. */
  #isQueued = false
  #isDone = false
  isGone = false
  isBegun = false
  onGone: (() => void) | null = null
  onDrain: (() => void) | null = null

  /** `common`: headers of every answer, as a flat list. */
  constructor(response: ServerResponse, common: readonly string[]) {
    this.#response = response
    this.#common = common
    response.on('close', () => this.#onClose())
    response.on('error', () => this.#onClose())
    // One whose turn has not come is told nothing by node.
    if (response.socket === null) response.req.socket.once('close', () => this.#onClose())
  }

  #onClose(): void {
    if (this.isGone || this.#isDone) return
    this.isGone = true
    this.onGone?.()
  }

  answer(status: number, headers: readonly string[], body: Buffer | string): void {
    if (this.isGone || this.isBegun) return
    this.isBegun = true
    this.#isDone = true
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    const length = ['content-length', String(bytes.length)]
    this.#response.writeHead(status, headers.concat(this.#common, length))
    // A string goes out together with the head in one write; as Latin-1 it is the same bytes.
    if (bytes.length <= mostJoinedBytes) this.#response.end(bytes.toString('latin1'), 'latin1')
    else this.#response.end(bytes)
  }

  begin(status: number, headers: readonly string[]): void {
    if (this.isGone || this.isBegun) return
    this.isBegun = true
    // HTTP/1.0 has no chunks: the answer ends where the connection does.
    this.#isChunked = this.#response.req.httpVersionMinor === 1
    const framing = this.#isChunked ? ['transfer-encoding', 'chunked'] : ['connection', 'close']
    this.#response.writeHead(status, [...headers, ...this.#common, ...framing])
    this.#response.flushHeaders()
    this.#isQueued = this.#response.socket === null
    this.#drains?.on('drain', this.#drained)
  }

  get #drains(): EventEmitter | null {
    return this.#isQueued ? this.#response : this.#response.socket
  }

  readonly #drained = (): void => this.onDrain?.()

  write(bytes: Buffer): boolean {
    const { socket } = this.#response
    if (this.isGone) return true
    if (this.#isQueued || !socket) return this.#response.write(Buffer.from(bytes))
    if (!this.#isChunked) return socket.write(Buffer.from(bytes))
    const size = bytes.length.toString(16)
    const framed = Buffer.allocUnsafe(size.length + bytes.length + 4)
    framed.write(size, 0, 'latin1')
    lineEnd.copy(framed, size.length)
    framed.set(bytes, size.length + 2)
    lineEnd.copy(framed, size.length + 2 + bytes.length)
    return socket.write(framed)
  }

  end(): void {
    if (this.isGone || this.#isDone) return
    this.#isDone = true
    this.#drains?.off('drain', this.#drained)
    // Writes the last, empty chunk.
    this.#response.end()
  }

  destroy(): void {
    this.#response.req.socket.destroy()
  }
}
