/**
 * A raw TCP proxy that breaks the handshakes of HTTP CONNECT (RFC 9110, 9.3.6) and SOCKS 5 (RFC 1928, 1929), or passes
 * connections on to an honest proxy.
 */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** What a proxy does with a connection. */
export interface ProxyMode {
  readonly name: string
  /** The reply to each message of the client, in order. */
  readonly replies: readonly (Buffer | string)[]
  /** What follows the last reply. */
  readonly end: 'close' | 'hang' | 'drip' | 'flood'
  /** The replies open the tunnel, so that the request may be sent into it. */
  readonly isOpening?: boolean
}

const floodPieces = 64
const floodPiece = Buffer.alloc(65_536, 'x')

export class HostileProxy {
  /** The current mode; null: pass connections on to `honestPort`. */
  mode: ProxyMode | null = null
  honestPort = 0
  /** Connections in hostile modes so far, and what they have received. */
  connections = 0
  received = ''
  readonly #server = createServer({ noDelay: true }, (socket) => this.#serve(socket))
  readonly #sockets = new Set<Socket>()

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #serve(socket: Socket): void {
    this.#keep(socket)
    const { mode } = this
    if (mode === null) {
      const honest = connect(this.honestPort, '127.0.0.1')
      this.#keep(honest)
      socket.pipe(honest).pipe(socket)
      socket.on('close', () => honest.destroy())
      honest.on('close', () => socket.destroy())
      return
    }
    this.connections += 1
    let step = 0
    socket.on('data', (bytes: Buffer) => {
      this.received += bytes.toString('latin1')
      const reply = mode.replies[step]
      step += 1
      if (reply !== undefined) socket.write(typeof reply === 'string' ? Buffer.from(reply, 'latin1') : reply)
      if (step === Math.max(1, mode.replies.length)) endHandshake(socket, mode.end)
    })
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('error', () => {})
  }
}

function endHandshake(socket: Socket, end: ProxyMode['end']): void {
  if (end === 'close') socket.end()
  if (end === 'flood') for (let piece = 0; piece < floodPieces; piece += 1) socket.write(floodPiece)
  if (end !== 'drip') return
  const timer = setInterval(() => socket.write('a'), 20)
  socket.on('close', () => clearInterval(timer))
}

const opened = 'HTTP/1.1 200 Connection established\r\n\r\n'
const response = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}'

/** `login` appears in replies, as a proxy may repeat it. */
export function connectModes(login: string): ProxyMode[] {
  const closing = {
    'no reply': '',
    'half a head': 'HTTP/1.1 200 OK\r\nVia',
    'an interim response': `HTTP/1.1 100 Continue\r\n\r\n${opened}`,
    'a switch of protocols': opened.replace('200', '101'),
    'a redirect': 'HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n',
    'a rejected login, repeated': `HTTP/1.1 407 ${login}\r\nX-Login: ${login}\r\n\r\n${login}`,
    'an error that repeats the login': `HTTP/1.1 502 ${login}\r\n\r\n${login}`,
    'HTTP/2.0': opened.replace('1.1', '2.0'),
    'a status of four digits': opened.replace('200', '2000'),
    'a status of two digits': opened.replace('200', '20'),
    'a line before the status': `\r\n${opened}`,
    'another protocol': `SSH-2.0-${login}\r\n\r\n`,
    'a TLS alert': '\x15\x03\x01\x00\x02\x02\x28\r\n\r\n',
    'a SOCKS reply': '\x05\x00\r\n\r\n',
    'a response after the head': opened + response,
    'a byte after the head': `${opened}\0`,
  }
  return [
    ...Object.entries(closing).map(([name, reply]) => ({ name, replies: [reply], end: 'close' as const })),
    { name: 'silence', replies: [], end: 'hang' },
    { name: 'line feeds alone', replies: ['HTTP/1.1 200 OK\n\n'], end: 'hang' },
    { name: 'a head of single bytes', replies: ['HTTP/1.1 200 OK\r\nVia: '], end: 'drip' },
    { name: 'endless bytes', replies: [], end: 'flood' },
    { name: 'endless headers', replies: [`HTTP/1.1 200 OK\r\n${'A: b\r\n'.repeat(100_000)}`], end: 'flood' },
    { name: 'a tunnel that closes', replies: [opened], end: 'close', isOpening: true },
  ]
}

const method = Buffer.from([5, 2])
const loggedIn = Buffer.from([1, 0])
const connected = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]

/** The relay offers a login. */
export const socksModes: readonly ProxyMode[] = [
  { name: 'no reply', replies: [], end: 'close' },
  { name: 'silence', replies: [], end: 'hang' },
  { name: 'endless bytes', replies: [], end: 'flood' },
  { name: 'SOCKS 4', replies: [Buffer.from([4, 2])], end: 'hang' },
  { name: 'no login method', replies: [Buffer.from([5, 0xff])], end: 'hang' },
  { name: 'an unknown login method', replies: [Buffer.from([5, 0x80])], end: 'hang' },
  { name: 'an HTTP response', replies: [opened + response], end: 'hang' },
  { name: 'half a login method', replies: [Buffer.from([5])], end: 'close' },
  { name: 'a rejected login', replies: [method, Buffer.from([1, 1])], end: 'hang' },
  { name: 'half a login reply', replies: [method, Buffer.from([1])], end: 'close' },
  { name: 'silence after the login', replies: [method, loggedIn], end: 'hang' },
  {
    name: 'a reply of SOCKS 4',
    replies: [method, loggedIn, Buffer.from([4, ...connected.slice(1)])],
    end: 'hang',
  },
  { name: 'a failure', replies: [method, loggedIn, Buffer.from([5, 1, ...connected.slice(2)])], end: 'hang' },
  { name: 'an unknown failure', replies: [method, loggedIn, Buffer.from([5, 200])], end: 'hang' },
  { name: 'half a reply', replies: [method, loggedIn, Buffer.from([5, 0, 0])], end: 'close' },
  {
    name: 'a name of single bytes',
    replies: [method, loggedIn, Buffer.from([5, 0, 0, 3, 255])],
    end: 'drip',
  },
  {
    name: 'a byte after the reply',
    replies: [method, loggedIn, Buffer.from([...connected, 0])],
    end: 'hang',
  },
  {
    name: 'a response after the reply',
    replies: [method, loggedIn, Buffer.concat([Buffer.from(connected), Buffer.from(response)])],
    end: 'hang',
  },
  {
    name: 'a tunnel that closes',
    replies: [method, loggedIn, Buffer.from(connected)],
    end: 'close',
    isOpening: true,
  },
]
