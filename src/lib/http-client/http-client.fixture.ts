/**
 * What the client's tests play on: servers that speak raw bytes as told, and a client that writes down what it is told.
 */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { parseCidrs } from '../address-guard.ts'
import {
  defaultBounds,
  headerLines,
  HttpClient,
  originOf,
  type ConnectionFailure,
  type Exchange,
  type HttpClientOptions,
  type OutgoingRequest,
} from './http-client.ts'

/** Listens on a free port of 127.0.0.1 and takes everything down after the test. */
export async function listening(t: TestContext, server: Server): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return (server.address() as AddressInfo).port
}

/** A server that does as told with each connection, which is told its number, from 0. */
export async function rawServer(
  t: TestContext,
  play: (socket: Socket, connection: number) => void,
): Promise<string> {
  let connections = 0
  const server = createServer({ noDelay: true }, (socket) => play(socket, connections++))
  return `http://127.0.0.1:${await listening(t, server)}`
}

/** Calls back with each whole request that comes over a connection, and its number, from 0. */
export function onRequest(
  socket: Socket,
  answer: (request: { head: string; body: Buffer }, nth: number) => void,
): void {
  let pieces: Buffer[] = []
  let have = 0
  let need = -1
  let nth = 0
  socket.on('data', (piece: Buffer) => {
    pieces.push(piece)
    have += piece.length
    while (need === -1 || have >= need) {
      const bytes = Buffer.concat(pieces)
      const end = bytes.indexOf('\r\n\r\n')
      if (end === -1) return
      const head = bytes.toString('latin1', 0, end + 2)
      need = end + 4 + Number(/\r\ncontent-length: (\d+)\r\n/.exec(head)?.[1] ?? 0)
      pieces = [bytes]
      if (have < need) return
      pieces = [bytes.subarray(need)]
      have -= need
      answer({ head, body: bytes.subarray(end + 4, need) }, nth++)
      need = -1
    }
  })
}

/** A client that may call 127.0.0.0/8, closed after the test. */
export function openClient(t: TestContext, options: Partial<HttpClientOptions> = {}): HttpClient {
  const client = new HttpClient({ ...defaultBounds, allow: parseCidrs('127.0.0.0/8'), ...options })
  t.after(() => client.close())
  return client
}

export interface Answer {
  status: number
  type: string | null
  body: Buffer
  failure: ConnectionFailure | null
}

export interface Asked {
  exchange: Exchange
  /** Comes with `onEnd` or `onFail`. */
  answer: Promise<Answer>
  /** Comes with `onHead`. */
  head: Promise<void>
  /** What came so far. */
  soFar: { bytes: number; calls: string[] }
}

/** The least that asks something of a URL. */
export function requestTo(url: string): OutgoingRequest {
  const { pathname, search } = new URL(url)
  const path = pathname + search
  return {
    origin: originOf(url),
    method: 'POST',
    path,
    headers: headerLines([]),
    body: [],
    connectTimeoutMs: 5000,
  }
}

/** Sends a request, and writes down what comes; fails when told anything after the end. */
export function ask(client: HttpClient, url: string, request: Partial<OutgoingRequest> = {}): Asked {
  const soFar: Asked['soFar'] = { bytes: 0, calls: [] }
  const chunks: Buffer[] = []
  const head = Promise.withResolvers<void>()
  const over = Promise.withResolvers<Answer>()
  const answer: Answer = { status: 0, type: null, body: Buffer.alloc(0), failure: null }
  const note = (call: string): void => {
    if (soFar.calls.some((past) => past === 'end' || past === 'fail'))
      throw new Error(`${call} after the end`)
    soFar.calls.push(call)
  }
  const end = (failure: ConnectionFailure | null): void => {
    answer.failure = failure
    answer.body = Buffer.concat(chunks)
    over.resolve(answer)
  }
  const exchange = client.send(
    { ...requestTo(url), ...request },
    {
      onHead(status, headers) {
        note('head')
        answer.status = status
        answer.type = headers.get('content-type')
        head.resolve()
      },
      onData(chunk) {
        note('data')
        chunks.push(Buffer.from(chunk))
        soFar.bytes += chunk.length
      },
      onEnd() {
        note('end')
        end(null)
      },
      onFail(failure) {
        note('fail')
        end(failure)
      },
    },
  )
  return { exchange, answer: over.promise, head: head.promise, soFar }
}

/** A whole answer with a length. */
export function saying(body: string, headers = ''): string {
  return `HTTP/1.1 200 OK\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}
