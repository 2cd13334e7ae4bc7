/** Proxies that do as told and write down whom they were asked for: HTTP CONNECT and SOCKS 5. */
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { connect, createServer, type Server, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { cert, key } from '../certificate.fixture.ts'
import { listening } from './http-client.fixture.ts'

export interface PlayedProxy {
  readonly port: number
  /** What it was asked to connect to, `host:port` each. */
  readonly asked: string[]
  /** The logins that came, `user:password` each; '' for none. */
  readonly logins: string[]
}

export interface ProxyRules {
  /** `user:password` that it wants. */
  readonly login?: string
  /** Where it really connects, whatever name it was asked for. */
  readonly toPort: number
  readonly tls?: boolean
  /** Says no: an HTTP status, or a SOCKS reply. */
  readonly refusal?: number
}

function join(one: Socket, other: Socket): void {
  one.pipe(other).pipe(one)
  for (const socket of [one, other]) socket.on('error', () => {})
  one.on('close', () => other.destroy())
  other.on('close', () => one.destroy())
}

export async function connectProxy(t: TestContext, rules: ProxyRules): Promise<PlayedProxy> {
  const asked: string[] = []
  const logins: string[] = []
  const server = rules.tls ? createHttpsServer({ key, cert }) : createHttpServer()
  server.on('tlsClientError', () => {})
  server.on('connect', (request, socket: Socket) => {
    asked.push(request.url ?? '')
    const words = (request.headers['proxy-authorization'] ?? '').replace(/^Basic /, '')
    logins.push(Buffer.from(words, 'base64').toString())
    const status = rules.login !== undefined && logins.at(-1) !== rules.login ? 407 : (rules.refusal ?? 200)
    if (status !== 200) return socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n`)
    const there = connect(rules.toPort, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\nVia: played\r\n\r\n')
      join(socket, there)
    })
    return there.on('error', () => socket.destroy())
  })
  return { port: await listening(t, server), asked, logins }
}

/** Exactly so many bytes, or none when the socket ends before. */
async function read(socket: Socket, count: number): Promise<Buffer> {
  for (;;) {
    const bytes = socket.read(count) as Buffer | null
    if (bytes !== null) return bytes
    if (socket.readableEnded || socket.destroyed) return Buffer.alloc(count)
    await Promise.race([once(socket, 'readable'), once(socket, 'close')])
  }
}

async function playSocks(socket: Socket, rules: ProxyRules, seen: PlayedProxy): Promise<void> {
  const [, methods = 0] = await read(socket, 2)
  const offered = await read(socket, methods)
  const method = rules.login === undefined ? 0 : 2
  if (!offered.includes(method)) return void socket.end(Buffer.from([5, 0xff]))
  socket.write(Buffer.from([5, method]))
  let login = ''
  if (method === 2) {
    const [, userLength = 0] = await read(socket, 2)
    const user = await read(socket, userLength)
    const password = await read(socket, (await read(socket, 1))[0] ?? 0)
    login = `${user.toString()}:${password.toString()}`
    if (login !== rules.login) return void socket.end(Buffer.from([1, 1]))
    socket.write(Buffer.from([1, 0]))
  }
  seen.logins.push(login)
  const [, , , type = 0] = await read(socket, 4)
  const host =
    type === 3
      ? (await read(socket, (await read(socket, 1))[0] ?? 0)).toString()
      : [...(await read(socket, type === 1 ? 4 : 16))].join('.')
  seen.asked.push(`${host}:${(await read(socket, 2)).readUInt16BE()}`)
  if (rules.refusal !== undefined)
    return void socket.end(Buffer.from([5, rules.refusal, 0, 1, 0, 0, 0, 0, 0, 0]))
  const there = connect(rules.toPort, '127.0.0.1', () => {
    socket.write(Buffer.from([5, 0, 0, 3, 1, 97, 0, 80]))
    join(socket, there)
  })
}

export async function socksProxy(t: TestContext, rules: ProxyRules): Promise<PlayedProxy> {
  const seen = { port: 0, asked: [], logins: [] }
  const server: Server = createServer((socket) => void playSocks(socket, rules, seen))
  return Object.assign(seen, { port: await listening(t, server) })
}
