/** Writes a response over node:http. Streams are framed here, so that each event is one write; Node's chunking makes three. */
import type { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { ResponseWriter } from '../../relay/response-writer.ts'
import { abortDelayMs } from './fast-response-writer.ts'

const maxJoinedBytes = 65_536
const lineEnd = Buffer.from('\r\n')

export class NodeResponseWriter implements ResponseWriter {
  readonly #response: ServerResponse
  readonly #commonHeaders: readonly string[]
  #isChunked = false
  /** Started while an earlier response on the connection is still being sent: Node buffers this one, and frames it. */
  #isQueued = false
  #isEnded = false
  isDisconnected = false
  isStarted = false
  onDisconnect: (() => void) | null = null
  onDrain: (() => void) | null = null

  /** `commonHeaders`: headers of every response, as a flat list. */
  constructor(response: ServerResponse, commonHeaders: readonly string[]) {
    this.#response = response
    this.#commonHeaders = commonHeaders
    response.on('close', () => this.#onClose())
    response.on('error', () => this.#onClose())
    // Node emits no `close` on a response that is queued behind an earlier one.
    if (response.socket === null) response.req.socket.once('close', () => this.#onClose())
  }

  #onClose(): void {
    if (this.isDisconnected || this.#isEnded) return
    this.isDisconnected = true
    this.onDisconnect?.()
  }

  send(status: number, headers: readonly string[], body: Buffer | string): void {
    if (this.isDisconnected || this.isStarted) return
    this.isStarted = true
    this.#isEnded = true
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    const length = ['content-length', String(bytes.length)]
    this.#response.writeHead(status, headers.concat(this.#commonHeaders, length))
    // A string is sent together with the head in one write; as Latin-1 it has the same bytes.
    if (bytes.length <= maxJoinedBytes) this.#response.end(bytes.toString('latin1'), 'latin1')
    else this.#response.end(bytes)
  }

  start(status: number, headers: readonly string[]): void {
    if (this.isDisconnected || this.isStarted) return
    this.isStarted = true
    // HTTP/1.0 has no chunks: the end of the connection ends the response.
    this.#isChunked = this.#response.req.httpVersionMinor === 1
    const framing = this.#isChunked ? ['transfer-encoding', 'chunked'] : ['connection', 'close']
    this.#response.writeHead(status, [...headers, ...this.#commonHeaders, ...framing])
    this.#response.flushHeaders()
    this.#isQueued = this.#response.socket === null
    this.#drainEmitter?.on('drain', this.#handleDrain)
  }

  get #drainEmitter(): EventEmitter | null {
    return this.#isQueued ? this.#response : this.#response.socket
  }

  readonly #handleDrain = (): void => this.onDrain?.()

  write(bytes: Buffer): boolean {
    const { socket } = this.#response
    // An empty chunk would end the response.
    if (this.isDisconnected || this.#isEnded || bytes.length === 0) return true
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
    if (this.isDisconnected || this.#isEnded) return
    this.#isEnded = true
    this.#drainEmitter?.off('drain', this.#handleDrain)
    // Also writes the last, empty chunk.
    this.#response.end()
  }

  abort(): void {
    if (this.isDisconnected || this.#isEnded) return
    this.#isEnded = true
    const response = this.#response
    this.#drainEmitter?.off('drain', this.#handleDrain)
    setTimeout(() => {
      // Before node:http starts the response to a pipelined request.
      response.prependListener('finish', () => response.req.socket.destroySoon())
      // Now `end` does not write the last chunk. Without chunks, the end of the connection always ends the response.
      response.chunkedEncoding = false
      response.end()
    }, abortDelayMs)
  }

  destroy(): void {
    this.#response.req.socket.destroy()
  }
}
