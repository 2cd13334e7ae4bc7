/** For the tests of the fast path: the same echo handler behind it and behind node:http alone, and a raw TCP client. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { asApiError } from '../../errors.ts'
import type { ResponseWriter } from '../../relay/response-writer.ts'
import type { HeaderName, IncomingRequest } from '../incoming-request.ts'
import { BodyBudget } from '../body.ts'
import { FastRequest } from './fast-request.ts'
import type { FastPathOptions } from './fast-connection.ts'
import { FastPath } from './fast-path.ts'
import { NodeRequest } from './node-request.ts'

export type RequestHandler = (request: IncomingRequest) => void | Promise<void>

/** Turns what the handler throws into a response, as the router does. */
export function withErrorResponses(
  handle: (request: IncomingRequest, response: ResponseWriter) => Promise<void>,
): RequestHandler {
  return async (request) => {
    const response = request.respond(['x-by', request instanceof FastRequest ? 'fast-path' : 'node'])
    try {
      await handle(request, response)
    } catch (error) {
      if (response.isDisconnected) return
      const { isComplete } = request
      response.send(asApiError(error).status, isComplete ? [] : ['connection', 'close'], 'rejected')
      if (!isComplete) request.linger()
    }
  }
}

export const bodyLimitBytes = 20 * 1024 * 1024

const everyName: Readonly<Record<HeaderName, true>> = {
  authorization: true,
  'content-encoding': true,
  'content-type': true,
  'idempotency-key': true,
  origin: true,
  'x-forwarded-for': true,
  'x-api-key': true,
  'anthropic-version': true,
  'anthropic-beta': true,
  cookie: true,
  host: true,
  'sec-fetch-site': true,
  'access-control-request-headers': true,
}
/** All headers that handlers may read. */
export const headerNames = Object.keys(everyName) as HeaderName[]

/** Responds with what it has received. `Authorization` names the account. */
export function echo(
  budget = new BodyBudget({ bodyLimitBytes, bodiesLimitBytes: 4 * bodyLimitBytes }),
): RequestHandler {
  return withErrorResponses(async (request, response) => {
    const account = request.header('authorization') ?? ''
    const body = await request.body(budget, account)
    const { method, path, query } = request
    const headers = headerNames.map((name) => request.header(name) ?? null)
    const said = { method, path, query, headers, bytes: body.length, text: body.toString('latin1', 0, 64) }
    response.send(200, ['content-type', 'application/json'], JSON.stringify(said))
    budget.release(account, body.length)
  })
}

export interface TestListener {
  readonly port: number
  readonly server: Server
  readonly fastPath: FastPath | null
}

async function listen(t: TestContext, server: Server): Promise<number> {
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

function nodeServer(handle: RequestHandler): Server {
  const options = { keepAliveTimeout: 75_000, requestTimeout: 0, noDelay: true }
  const server = createServer(
    options,
    (incoming, outgoing) => void handle(new NodeRequest(incoming, outgoing, () => false)),
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

export async function startFastPath(
  t: TestContext,
  handle: RequestHandler = echo(),
  options: Partial<FastPathOptions> = {},
): Promise<TestListener> {
  const server = nodeServer(handle)
  const fastPath = new FastPath(server, (request) => void handle(request), options)
  return { port: await listen(t, server), server, fastPath }
}

/** The reference: node:http alone. */
export async function startNodeServer(
  t: TestContext,
  handle: RequestHandler = echo(),
): Promise<TestListener> {
  const server = nodeServer(handle)
  return { port: await listen(t, server), server, fastPath: null }
}

export interface RawResponse {
  readonly status: number
  readonly head: string
  readonly body: string
}

/** Parses all complete responses. */
export function parseResponses(text: string): RawResponse[] {
  const responses: RawResponse[] = []
  let rest = text
  while (true) {
    const end = rest.indexOf('\r\n\r\n')
    if (end === -1) return responses
    const head = rest.slice(0, end)
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? NaN)
    if (rest.length < end + 4 + length) return responses
    responses.push({ status, head, body: rest.slice(end + 4, end + 4 + length) })
    rest = rest.slice(end + 4 + length)
  }
}

/** A client that sends raw bytes and keeps what it receives. */
export class RawClient {
  readonly socket: Socket
  received = ''
  isClosed = false
  readonly #closed: Promise<void>

  constructor(t: TestContext, port: number) {
    const waitForClose = Promise.withResolvers<void>()
    this.#closed = waitForClose.promise
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.socket.setEncoding('latin1')
    this.socket.on('data', (text: string) => {
      this.received += text
    })
    this.socket.on('error', () => undefined)
    this.socket.on('close', () => {
      this.isClosed = true
      waitForClose.resolve()
    })
    t.after(() => this.socket.destroy())
  }

  write(text: string | Buffer): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.socket.write(typeof text === 'string' ? Buffer.from(text, 'latin1') : text, () => resolve())
    return promise
  }

  get responses(): RawResponse[] {
    return parseResponses(this.received)
  }

  /** Resolves when this many responses have been received in all. Throws if the connection closes first. */
  async waitForResponses(count: number): Promise<RawResponse[]> {
    await this.waitUntil(() => this.responses.length >= count)
    return this.responses
  }

  async waitUntil(condition: () => boolean): Promise<void> {
    while (!condition()) {
      if (this.isClosed) throw new Error(`The connection closed after ${JSON.stringify(this.received)}`)
      await Promise.race([once(this.socket, 'data').catch(() => undefined), this.#closed])
    }
  }

  /** Sends a head, then its body byte by byte until the connection closes. */
  async trickle(requestLine: string): Promise<void> {
    await this.write(`${requestLine} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n`)
    const timer = setInterval(() => this.socket.write('x'), 5)
    await this.#closed
    clearInterval(timer)
  }

  async waitForClose(): Promise<void> {
    await this.#closed
  }
}

export function chatRequest(body: string, extra = '', path = '/v1/chat/completions'): string {
  return `POST ${path} HTTP/1.1\r\nHost: relay.test\r\nAuthorization: Bearer k\r\n${extra}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}
