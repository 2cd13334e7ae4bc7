/** Scripted proxies, HTTP CONNECT and SOCKS 5, that record the targets they were asked for. */
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { connect, createServer, type Server, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { cert, key } from '../certificate.fixture.ts'
import { listen } from './http-client.fixture.ts'

export interface TestProxy {
  readonly port: number
  /** The requested targets, `host:port` each. */
  readonly targets: string[]
  /** The logins received, `user:password` each; '' for none. */
  readonly logins: string[]
}

export interface TestProxyOptions {
  /** The `user:password` that it requires. */
  readonly login?: string
  /** The port that it connects to, whatever target was requested. */
  readonly toPort: number
  readonly tls?: boolean
  /** Rejects every connection with this HTTP status or SOCKS reply. */
  readonly rejectWith?: number
}

function pipeBoth(one: Socket, other: Socket): void {
  one.pipe(other).pipe(one)
  for (const socket of [one, other]) socket.on('error', () => {})
  one.on('close', () => other.destroy())
  other.on('close', () => one.destroy())
}

export async function startConnectProxy(t: TestContext, options: TestProxyOptions): Promise<TestProxy> {
  const targets: string[] = []
  const logins: string[] = []
  const server = options.tls ? createHttpsServer({ key, cert }) : createHttpServer()
  server.on('tlsClientError', () => {})
  server.on('connect', (request, socket: Socket) => {
    targets.push(request.url ?? '')
    const credentials = (request.headers['proxy-authorization'] ?? '').replace(/^Basic /, '')
    logins.push(Buffer.from(credentials, 'base64').toString())
    const status =
      options.login !== undefined && logins.at(-1) !== options.login ? 407 : (options.rejectWith ?? 200)
    if (status !== 200) return socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n`)
    const upstream = connect(options.toPort, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\nVia: played\r\n\r\n')
      pipeBoth(socket, upstream)
    })
    return upstream.on('error', () => socket.destroy())
  })
  return { port: await listen(t, server), targets, logins }
}

/** Reads exactly `count` bytes, or returns zeros if the socket ends before. */
async function read(socket: Socket, count: number): Promise<Buffer> {
  for (;;) {
    const bytes = socket.read(count) as Buffer | null
    if (bytes !== null) return bytes
    if (socket.readableEnded || socket.destroyed) return Buffer.alloc(count)
    await Promise.race([once(socket, 'readable'), once(socket, 'close')])
  }
}

async function handleSocks(socket: Socket, options: TestProxyOptions, seen: TestProxy): Promise<void> {
  const [, methods = 0] = await read(socket, 2)
  const offered = await read(socket, methods)
  const method = options.login === undefined ? 0 : 2
  if (!offered.includes(method)) return void socket.end(Buffer.from([5, 0xff]))
  socket.write(Buffer.from([5, method]))
  let login = ''
  if (method === 2) {
    const [, userLength = 0] = await read(socket, 2)
    const user = await read(socket, userLength)
    const password = await read(socket, (await read(socket, 1))[0] ?? 0)
    login = `${user.toString()}:${password.toString()}`
    if (login !== options.login) return void socket.end(Buffer.from([1, 1]))
    socket.write(Buffer.from([1, 0]))
  }
  seen.logins.push(login)
  const [, , , type = 0] = await read(socket, 4)
  const host =
    type === 3
      ? (await read(socket, (await read(socket, 1))[0] ?? 0)).toString()
      : [...(await read(socket, type === 1 ? 4 : 16))].join('.')
  seen.targets.push(`${host}:${(await read(socket, 2)).readUInt16BE()}`)
  if (options.rejectWith !== undefined)
    return void socket.end(Buffer.from([5, options.rejectWith, 0, 1, 0, 0, 0, 0, 0, 0]))
  const upstream = connect(options.toPort, '127.0.0.1', () => {
    socket.write(Buffer.from([5, 0, 0, 3, 1, 97, 0, 80]))
    pipeBoth(socket, upstream)
  })
}

export async function startSocksProxy(t: TestContext, options: TestProxyOptions): Promise<TestProxy> {
  const seen = { port: 0, targets: [], logins: [] }
  const server: Server = createServer((socket) => void handleSocks(socket, options, seen))
  return Object.assign(seen, { port: await listen(t, server) })
}
