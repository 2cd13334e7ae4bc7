/**
 * The answer to a request of the fast lane, framed here: a whole answer is one write, a stream one write for all that
 * is said in one turn of the loop, its head and its end included.
 */
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { CallerExchange } from '../relay/exchange.ts'

/** Larger ones are not worth copying. */
const mostJoinedBytes = 65_536
/** A stream that says so much in one turn is written within it. */
const mostGatheredBytes = 16_384
const lastChunk = '0\r\n\r\n'
const notInValues = /[^\t\x20-\x7e\x80-\xff]/

/** The connection that an answer goes out on. */
export interface AnswerWay {
  readonly socket: Socket
  /** The lines of every head that stays the same for a while. */
  readonly date: string
  readonly keepAlive: string
  /** The request has come to its end; an answer before that is the connection's last. */
  readonly isRequestWhole: boolean
  /** Has `flush` called when this turn's work is done. */
  flushSoon(exchange: FastExchange): void
  /** The answer is written. `isLast`: it has told that the connection closes. */
  finished(isLast: boolean): void
}

export class FastExchange implements CallerExchange {
  readonly #way: AnswerWay
  readonly #common: readonly string[]
  /** What goes out with the next write, as Latin-1. */
  #text = ''
  #isDone = false
  #isLast = false
  #isAwaitingDrain = false
  isGone = false
  isBegun = false
  onGone: (() => void) | null = null
  onDrain: (() => void) | null = null

  /** `common`: headers of every answer, as a flat list. */
  constructor(way: AnswerWay, common: readonly string[]) {
    this.#way = way
    this.#common = common
  }

  answer(status: number, headers: readonly string[], body: Buffer | string): void {
    if (this.isGone || this.isBegun) return
    const { socket } = this.#way
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    const head = this.#head(status, headers, `content-length: ${bytes.length}\r\n\r\n`)
    this.isBegun = true
    this.#isDone = true
    if (bytes.length <= mostJoinedBytes) socket.write(head + bytes.toString('latin1'), 'latin1')
    else {
      socket.cork()
      socket.write(head, 'latin1')
      socket.write(bytes)
      socket.uncork()
    }
    this.#way.finished(this.#isLast)
  }

  begin(status: number, headers: readonly string[]): void {
    if (this.isGone || this.isBegun) return
    this.#add(this.#head(status, headers, 'transfer-encoding: chunked\r\n\r\n'))
    this.isBegun = true
  }

  write(bytes: Buffer): boolean {
    // An empty chunk would end the answer.
    if (this.isGone || this.#isDone || bytes.length === 0) return true
    this.#add(`${bytes.length.toString(16)}\r\n${bytes.toString('latin1')}\r\n`)
    if (this.#text.length > mostGatheredBytes) this.flush()
    this.#isAwaitingDrain = this.#way.socket.writableNeedDrain
    return !this.#isAwaitingDrain
  }

  end(): void {
    if (this.isGone || this.#isDone) return
    this.#isDone = true
    this.#text += lastChunk
    this.flush()
    this.#way.finished(this.#isLast)
  }

  destroy(): void {
    if (!this.#isDone) this.#way.socket.destroy()
  }

  /** Writes what has gathered. */
  flush(): void {
    if (this.#text === '' || this.isGone) return
    this.#way.socket.write(this.#text, 'latin1')
    this.#text = ''
  }

  /** The connection has taken what it was given. */
  drained(): void {
    if (!this.#isAwaitingDrain) return
    this.#isAwaitingDrain = false
    this.onDrain?.()
  }

  /** The caller has left before the end. */
  leave(): void {
    if (this.isGone || this.#isDone) return
    this.isGone = true
    this.onGone?.()
  }

  #add(text: string): void {
    if (this.#text === '') this.#way.flushSoon(this)
    this.#text += text
  }

  #head(status: number, headers: readonly string[], framing: string): string {
    const { date, keepAlive, isRequestWhole } = this.#way
    this.#isLast = !isRequestWhole
    const lines = this.#lines(headers) + this.#lines(this.#common)
    const future = this.#isLast ? 'connection: close\r\n' : keepAlive
    return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines}${date}${future}${framing}`
  }

  #lines(headers: readonly string[]): string {
    let lines = ''
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i] ?? ''
      const value = headers[i + 1] ?? ''
      if (notInValues.test(value)) throw new Error(`The header ${name} cannot be sent.`)
      if (name === 'connection') this.#isLast ||= value === 'close'
      else lines += `${name}: ${value}\r\n`
    }
    return lines
  }
}
