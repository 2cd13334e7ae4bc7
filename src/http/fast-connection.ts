/**
 * One connection of the fast lane: one request after the other, each answered before the next is looked at. What is not
 * exactly regular goes to node:http together with its connection, at the boundary between two requests and for good.
 */
import type { Socket } from 'node:net'
import type { CallerExchange } from '../relay/exchange.ts'
import { FastArrival, type ArrivalWay } from './fast-arrival.ts'
import { FastExchange, type AnswerWay } from './fast-exchange.ts'
import { RequestHead } from './server/request-head.ts'
import type { Arrival } from './incoming-request.ts'
import { brokenBody, lingerBytes, stalledBody } from './body.ts'

/** What is kept of requests that come while another is served. */
const mostWaitingBytes = 65_536
/** A connection stays open for so much longer than it is said to, so that a request on its way still arrives. */
const graceMs = 1000

export interface LaneTerms {
  /** A connection that waits for a request for so long is closed. */
  readonly idleMs: number
  /** A head has to come within so long. */
  readonly headMs: number
  readonly stallMs: number
  readonly lingerMs: number
  /** An answer of which the caller takes nothing for so long is given up. */
  readonly slowMs: number
  /** How often times are looked at. */
  readonly sweepMs: number
}

/** What connections share. */
export interface Lane {
  readonly terms: LaneTerms
  readonly date: string
  readonly keepAlive: string
  readonly nowMs: number
  readonly isClosing: boolean
  receive(arrival: Arrival): void
  /** Gives the connection to node:http. */
  handOver(socket: Socket): void
  /** Has a head that is none answered as node:http's are. */
  refuse(socket: Socket, code: string): void
  leave(connection: FastConnection): void
  flushSoon(exchange: FastExchange): void
}

/** `over`: closed, closing or handed over. */
type State = 'waiting' | 'serving' | 'lingering' | 'over'

export class FastConnection implements ArrivalWay, AnswerWay {
  readonly socket: Socket
  readonly #lane: Lane
  #state: State = 'waiting'
  #sinceMs: number
  /** Bytes that are not yet of a request. */
  #waiting: Buffer | null = null
  #arrival: FastArrival | null = null
  #exchange: FastExchange | null = null
  #isReadingHeads = false
  #isFirst = true
  #lingeredBytes = 0

  constructor(socket: Socket, lane: Lane) {
    this.socket = socket
    this.#lane = lane
    this.#sinceMs = lane.nowMs
    socket.on('data', this.#onData)
    socket.on('end', this.#onEnd)
    socket.on('close', this.#onClose)
    socket.on('error', this.#onError)
    socket.on('drain', this.#onDrain)
    socket.on('timeout', this.#onSlow)
  }

  get peer(): string | undefined {
    return this.socket.remoteAddress
  }

  get date(): string {
    return this.#lane.date
  }

  get keepAlive(): string {
    return this.#lane.keepAlive
  }

  get isRequestWhole(): boolean {
    return this.#arrival?.isComplete !== false
  }

  reply(common: readonly string[]): CallerExchange {
    this.#exchange = new FastExchange(this, common)
    return this.#exchange
  }

  flushSoon(exchange: FastExchange): void {
    this.#lane.flushSoon(exchange)
  }

  readOn(): void {
    this.socket.resume()
  }

  finished(isLast: boolean): void {
    this.#exchange = null
    this.#sinceMs = this.#lane.nowMs
    if (!this.isRequestWhole) {
      this.linger()
      return
    }
    this.#arrival = null
    if (isLast || this.#lane.isClosing) {
      this.#closeSoon()
      return
    }
    this.#state = 'waiting'
    if (this.socket.writableLength > 0) this.socket.setTimeout(this.#lane.terms.slowMs)
    if (this.#waiting) this.#readHeads()
  }

  linger(): void {
    if (this.#state !== 'serving') return
    this.#state = 'lingering'
    this.#sinceMs = this.#lane.nowMs
    this.socket.end()
    this.socket.resume()
  }

  /** Ends the connection if no request is on its way; of one that has just been made the first is. */
  closeIfIdle(): void {
    if (this.#isFirst && this.#lane.nowMs - this.#sinceMs < graceMs) return
    if (this.#state === 'waiting' && this.#waiting === null) this.#closeSoon()
  }

  /** Looks, about once a second, whether something takes too long. */
  sweep(): void {
    const { nowMs, terms } = this.#lane
    const ageMs = nowMs - this.#sinceMs
    if (this.#state === 'waiting') this.#sweepWaiting(ageMs)
    else if (this.#state === 'serving' && ageMs > terms.stallMs) this.#arrival?.fail(stalledBody)
    else if (this.#state === 'lingering' && ageMs > terms.lingerMs) this.socket.destroy()
  }

  #sweepWaiting(ageMs: number): void {
    const { nowMs, terms } = this.#lane
    const mostMs = this.#isFirst ? terms.headMs : terms.idleMs + graceMs
    // The last answer is still on its way.
    if (this.socket.writableLength > 0) this.#sinceMs = nowMs
    else if (this.#waiting && ageMs > terms.headMs) this.#refuse('ERR_HTTP_REQUEST_TIMEOUT')
    else if (ageMs > mostMs) this.#closeSoon()
  }

  readonly #onData = (bytes: Buffer): void => {
    if (this.#state === 'waiting') this.#takeHead(bytes)
    else if (this.#state === 'serving') this.#takeBody(bytes)
    else if (this.#state === 'lingering') this.#drop(bytes)
  }

  #takeHead(bytes: Buffer): void {
    if (this.#waiting === null) this.#sinceMs = this.#lane.nowMs
    this.#keep(bytes)
    this.#readHeads()
  }

  #keep(bytes: Buffer): void {
    this.#waiting = this.#waiting === null ? bytes : Buffer.concat([this.#waiting, bytes])
  }

  /** A loop, because requests that wait here may be answered at once. */
  #readHeads(): void {
    if (this.#isReadingHeads) return
    this.#isReadingHeads = true
    while (this.#state === 'waiting' && this.#waiting !== null && this.#readHead(this.#waiting));
    this.#isReadingHeads = false
    if (this.#state === 'waiting' && this.socket.isPaused()) this.socket.resume()
  }

  /** False: more has to come first. */
  #readHead(bytes: Buffer): boolean {
    const head = new RequestHead()
    const verdict = head.parse(bytes)
    if (verdict === 'partial') return false
    if (verdict === 'irregular') {
      this.#handOver(bytes)
      return false
    }
    if (this.socket.timeout) this.socket.setTimeout(0)
    this.#isFirst = false
    this.#waiting = null
    this.#state = 'serving'
    const arrival = new FastArrival(head, this)
    this.#arrival = arrival
    this.#takeBody(bytes.subarray(head.end))
    this.#lane.receive(arrival)
    if (this.#state === 'serving' && !arrival.isComplete && !arrival.isReading) this.socket.pause()
    return true
  }

  #takeBody(bytes: Buffer): void {
    this.#sinceMs = this.#lane.nowMs
    const taken = this.#arrival?.take(bytes) ?? 0
    if (taken === bytes.length) return
    this.#keep(bytes.subarray(taken))
    if ((this.#waiting?.length ?? 0) > mostWaitingBytes) this.socket.pause()
  }

  #drop(bytes: Buffer): void {
    this.#lingeredBytes += bytes.length
    this.#arrival?.take(bytes)
    if (this.isRequestWhole || this.#lingeredBytes > lingerBytes) this.socket.destroySoon()
  }

  #handOver(bytes: Buffer): void {
    const { socket } = this
    this.#forget()
    socket.setTimeout(0)
    // Stopped first: bytes that are put back into a flowing stream wait for the next ones to arrive.
    socket.pause()
    socket.unshift(bytes)
    this.#lane.handOver(socket)
    socket.resume()
  }

  #forget(): void {
    const { socket } = this
    this.#state = 'over'
    this.#waiting = null
    this.#lane.leave(this)
    socket.off('data', this.#onData)
    socket.off('end', this.#onEnd)
    socket.off('close', this.#onClose)
    socket.off('error', this.#onError)
    socket.off('drain', this.#onDrain)
    socket.off('timeout', this.#onSlow)
  }

  #refuse(code: string): void {
    this.#lane.refuse(this.socket, code)
    this.#closeSoon()
  }

  /** When what is written has gone out. */
  #closeSoon(): void {
    this.#state = 'over'
    this.#waiting = null
    this.socket.setTimeout(this.#lane.terms.slowMs)
    this.socket.destroySoon()
  }

  /** Who says that nothing more comes, before the answer has ended, has left: node:http sees it so as well. */
  readonly #onEnd = (): void => {
    if (this.#state === 'waiting' && this.#waiting) this.#refuse('HPE_INVALID_EOF_STATE')
    else if (this.#state === 'serving') this.socket.destroy()
    else this.#closeSoon()
  }

  readonly #onClose = (): void => {
    this.#state = 'over'
    this.#lane.leave(this)
    this.#arrival?.fail(brokenBody)
    this.#exchange?.leave()
  }

  /** Whatever it is, the connection closes. */
  readonly #onError = (): void => undefined

  readonly #onDrain = (): void => this.#exchange?.drained()

  readonly #onSlow = (): void => {
    if (this.socket.writableLength > 0 || this.#state === 'over') this.socket.destroy()
  }
}
