/** What the lane's tests play on: the same echo behind the lane and behind node:http alone, and a client of raw bytes. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { refusalOf } from '../../errors.ts'
import type { CallerExchange } from '../../relay/exchange.ts'
import type { Arrival } from '../incoming-request.ts'
import { BodyBudget } from '../body.ts'
import { FastArrival } from '../fast-arrival.ts'
import type { LaneTerms } from '../fast-connection.ts'
import { FastLane } from './fast-path.ts'
import { NodeArrival } from './node-request.ts'

export type Receiver = (arrival: Arrival) => void | Promise<void>

/** What is wrong ends as a status, as the doors have it. */
export function refusing(receive: (arrival: Arrival, exchange: CallerExchange) => Promise<void>): Receiver {
  return async (arrival) => {
    const exchange = arrival.reply(['x-by', arrival instanceof FastArrival ? 'lane' : 'node'])
    try {
      await receive(arrival, exchange)
    } catch (error) {
      if (exchange.isGone) return
      const { isComplete } = arrival
      exchange.answer(refusalOf(error).status, isComplete ? [] : ['connection', 'close'], 'refused')
      if (!isComplete) arrival.linger()
    }
  }
}

export const bodyLimitBytes = 20 * 1024 * 1024

/** Answers with what has arrived. */
export function echo(
  budget = new BodyBudget({ bodyLimitBytes, bodiesLimitBytes: 4 * bodyLimitBytes }),
): Receiver {
  return refusing(async (arrival, exchange) => {
    const body = await arrival.body(budget)
    const { method, path, query } = arrival
    const key = arrival.header('authorization') ?? null
    const said = { method, path, query, key, bytes: body.length, text: body.toString('latin1', 0, 64) }
    exchange.answer(200, ['content-type', 'application/json'], JSON.stringify(said))
    budget.release(body.length)
  })
}

export interface Place {
  readonly port: number
  readonly server: Server
  readonly lane: FastLane | null
}

async function listening(t: TestContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => sockets.add(socket))
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return (server.address() as AddressInfo).port
}

function nodeServer(receive: Receiver): Server {
  const options = { keepAliveTimeout: 75_000, requestTimeout: 0, noDelay: true }
  const server = createServer(
    options,
    (incoming, outgoing) => void receive(new NodeArrival(incoming, outgoing)),
  )
  const statuses: Readonly<Record<string, number>> = {
    HPE_HEADER_OVERFLOW: 431,
    ERR_HTTP_REQUEST_TIMEOUT: 408,
  }
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (socket.writable) socket.end(`HTTP/1.1 ${statuses[error.code ?? ''] ?? 400} No\r\n\r\n`)
  })
  return server
}

export async function openLane(
  t: TestContext,
  receive: Receiver = echo(),
  terms: Partial<LaneTerms> = {},
): Promise<Place> {
  const server = nodeServer(receive)
  const lane = new FastLane(server, (arrival) => void receive(arrival), terms)
  return { port: await listening(t, server), server, lane }
}

/** The judge: node:http alone. */
export async function openNode(t: TestContext, receive: Receiver = echo()): Promise<Place> {
  const server = nodeServer(receive)
  return { port: await listening(t, server), server, lane: null }
}

export interface Answer {
  readonly status: number
  readonly head: string
  readonly body: string
}

/** Reads as many whole answers as there are. */
export function answersIn(text: string): Answer[] {
  const answers: Answer[] = []
  let rest = text
  while (true) {
    const end = rest.indexOf('\r\n\r\n')
    if (end === -1) return answers
    const head = rest.slice(0, end)
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? NaN)
    if (rest.length < end + 4 + length) return answers
    answers.push({ status, head, body: rest.slice(end + 4, end + 4 + length) })
    rest = rest.slice(end + 4 + length)
  }
}

/** A client that says raw bytes and keeps what it hears. */
export class Talk {
  readonly socket: Socket
  heard = ''
  isClosed = false
  readonly #closed: Promise<void>

  constructor(t: TestContext, port: number) {
    const closed = Promise.withResolvers<void>()
    this.#closed = closed.promise
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.socket.setEncoding('latin1')
    this.socket.on('data', (text: string) => {
      this.heard += text
    })
    this.socket.on('error', () => undefined)
    this.socket.on('close', () => {
      this.isClosed = true
      closed.resolve()
    })
    t.after(() => this.socket.destroy())
  }

  say(text: string | Buffer): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.socket.write(typeof text === 'string' ? Buffer.from(text, 'latin1') : text, () => resolve())
    return promise
  }

  get answers(): Answer[] {
    return answersIn(this.heard)
  }

  /** The next answers, up to this many in all. Throws when the connection closes before. */
  async answered(count: number): Promise<Answer[]> {
    await this.until(() => this.answers.length >= count)
    return this.answers
  }

  async until(isThere: () => boolean): Promise<void> {
    while (!isThere()) {
      if (this.isClosed) throw new Error(`The connection closed after ${JSON.stringify(this.heard)}`)
      await Promise.race([once(this.socket, 'data').catch(() => undefined), this.#closed])
    }
  }

  async closed(): Promise<void> {
    await this.#closed
  }
}

export function chatRequest(body: string, extra = '', path = '/v1/chat/completions'): string {
  return `POST ${path} HTTP/1.1\r\nHost: relay.test\r\nAuthorization: Bearer k\r\n${extra}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}
