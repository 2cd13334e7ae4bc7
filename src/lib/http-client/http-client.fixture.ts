/** Scripted servers that send raw bytes, and a client that records the events of its exchanges. */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { parseCidrs } from '../address-guard.ts'
import {
  defaultClientBounds,
  encodeHeaders,
  HttpClient,
  parseOrigin,
  type ConnectionFailure,
  type Exchange,
  type HttpClientOptions,
  type OutgoingRequest,
} from './http-client.ts'

/** Listens on a free port of 127.0.0.1; closes the server and its sockets after the test. */
export async function listen(t: TestContext, server: Server): Promise<number> {
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

/** Starts a server that handles each connection with `onConnection`, given its number from 0. */
export async function startRawServer(
  t: TestContext,
  onConnection: (socket: Socket, connection: number) => void,
): Promise<string> {
  let connections = 0
  const server = createServer({ noDelay: true }, (socket) => onConnection(socket, connections++))
  return `http://127.0.0.1:${await listen(t, server)}`
}

/** Calls back with each complete request of a connection and its number, from 0. */
export function onRequest(
  socket: Socket,
  onComplete: (request: { head: string; body: Buffer }, nth: number) => void,
): void {
  let chunks: Buffer[] = []
  let have = 0
  let need = -1
  let nth = 0
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    have += chunk.length
    while (need === -1 || have >= need) {
      const bytes = Buffer.concat(chunks)
      const end = bytes.indexOf('\r\n\r\n')
      if (end === -1) return
      const head = bytes.toString('latin1', 0, end + 2)
      need = end + 4 + Number(/\r\ncontent-length: (\d+)\r\n/.exec(head)?.[1] ?? 0)
      chunks = [bytes]
      if (have < need) return
      chunks = [bytes.subarray(need)]
      have -= need
      onComplete({ head, body: bytes.subarray(end + 4, need) }, nth++)
      need = -1
    }
  })
}

/** Creates a client that may call 127.0.0.0/8; it is closed after the test. */
export function createTestClient(t: TestContext, options: Partial<HttpClientOptions> = {}): HttpClient {
  const client = new HttpClient({ ...defaultClientBounds, allow: parseCidrs('127.0.0.0/8'), ...options })
  t.after(() => client.close())
  return client
}

export interface RecordedResponse {
  status: number
  type: string | null
  body: Buffer
  failure: ConnectionFailure | null
}

export interface SentRequest {
  exchange: Exchange
  /** Resolves with `onEnd` or `onFail`. */
  response: Promise<RecordedResponse>
  /** Resolves with `onHead`. */
  head: Promise<void>
  /** What has been received so far. */
  received: { bytes: number; calls: string[] }
}

/** The minimal request to a URL. */
export function minimalRequest(url: string): OutgoingRequest {
  const { pathname, search } = new URL(url)
  const path = pathname + search
  return {
    origin: parseOrigin(url),
    method: 'POST',
    path,
    headers: encodeHeaders([]),
    body: [],
    connectTimeoutMs: 5000,
  }
}

/** Sends a request and records its events; throws on any event after the end. */
export function send(client: HttpClient, url: string, request: Partial<OutgoingRequest> = {}): SentRequest {
  const received: SentRequest['received'] = { bytes: 0, calls: [] }
  const chunks: Buffer[] = []
  const head = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<RecordedResponse>()
  const response: RecordedResponse = { status: 0, type: null, body: Buffer.alloc(0), failure: null }
  const recordCall = (call: string): void => {
    if (received.calls.some((past) => past === 'end' || past === 'fail'))
      throw new Error(`${call} after the end`)
    received.calls.push(call)
  }
  const end = (failure: ConnectionFailure | null): void => {
    response.failure = failure
    response.body = Buffer.concat(chunks)
    ended.resolve(response)
  }
  const exchange = client.send(
    { ...minimalRequest(url), ...request },
    {
      onHead(status, headers) {
        recordCall('head')
        response.status = status
        response.type = headers.get('content-type')
        head.resolve()
      },
      onData(chunk) {
        recordCall('data')
        chunks.push(Buffer.from(chunk))
        received.bytes += chunk.length
      },
      onEnd() {
        recordCall('end')
        end(null)
      },
      onFail(failure) {
        recordCall('fail')
        end(failure)
      },
    },
  )
  return { exchange, response: ended.promise, head: head.promise, received }
}

/** A complete 200 response with `content-length`. */
export function okResponse(body: string, headers = ''): string {
  return `HTTP/1.1 200 OK\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}
