/**
 * A tunnel through a proxy: a socket to the proxy and the handshake that connects it to the target. The result behaves
 * like a direct connection; TLS to the upstream runs inside the tunnel, so the proxy cannot read it.
 */
import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls, type SecureContext } from 'node:tls'
import ipaddr from 'ipaddr.js'
import type { Proxy } from './proxy.ts'

export interface TunnelOptions {
  readonly proxy: Proxy
  /** The host is a name, or an IP address without brackets. */
  readonly target: { readonly host: string; readonly port: number }
  /** Resolves and checks the proxy's name, and the target's if it is resolved here. */
  readonly lookup: LookupFunction
  readonly secureContext: SecureContext
}

/** The proxy rejected the connection; the message is meant for operators. */
export class ProxyError extends Error {
  readonly code = 'ERR_PROXY'
}

/** The client side of a proxy's handshake. */
interface Handshake {
  /** The first message to send. */
  readonly firstMessage: Buffer
  /**
   * Takes all bytes received since the last step. Returns the bytes consumed and the next message (null: the tunnel is
   * open), or null if more bytes are needed. Throws ProxyError.
   */
  advance(received: Buffer): { readonly consumed: number; readonly reply: Buffer | null } | null
}

const maxHandshakeBytes = 16_384

/**
 * Opens a tunnel and returns its socket; `onOpen` is called once it is connected, before any byte of the target is
 * read. Errors, ProxyError among them, are emitted by the socket.
 */
export function openTunnel(options: TunnelOptions, onOpen: () => void): Socket {
  const { proxy, lookup, secureContext } = options
  const { host, port } = proxy
  const common = { host, port, lookup, noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000 }
  const servername = isIP(host) === 0 ? host.replace(/\.$/, '') : ''
  const socket = proxy.tls ? connectTls({ ...common, secureContext, servername }) : connect(common)
  socket.once(proxy.tls ? 'secureConnect' : 'connect', () => {
    if (proxy.kind !== 'socks5')
      return performHandshake(socket, createHandshake(options, options.target.host), onOpen)
    resolveTarget(options, (error, address) => {
      if (error) socket.destroy(error)
      else performHandshake(socket, createHandshake(options, address), onOpen)
    })
  })
  return socket
}

function resolveTarget(
  { target, lookup }: TunnelOptions,
  done: (error: Error | null, address: string) => void,
): void {
  if (isIP(target.host) !== 0) return done(null, target.host)
  lookup(target.host, { all: false }, (error, address) => {
    done(error, typeof address === 'string' ? address : '')
  })
}

function createHandshake(options: TunnelOptions, host: string): Handshake {
  const { proxy, target } = options
  return proxy.kind === 'connect'
    ? createConnectHandshake(proxy, target)
    : createSocks5Handshake(proxy, host, target.port)
}

function performHandshake(socket: Socket, handshake: Handshake, onOpen: () => void): void {
  let received: Buffer = Buffer.alloc(0)
  const onData = (bytes: Buffer): void => {
    received = Buffer.concat([received, bytes])
    try {
      for (let step = handshake.advance(received); step !== null; step = handshake.advance(received)) {
        received = received.subarray(step.consumed)
        if (step.reply !== null) {
          socket.write(step.reply)
          continue
        }
        socket.off('data', onData)
        // An HTTP or TLS server never sends first.
        if (received.length > 0) throw new ProxyError('the proxy sent data after its response')
        return onOpen()
      }
      if (received.length > maxHandshakeBytes) throw new ProxyError('the proxy’s response is too long')
    } catch (error) {
      socket.destroy(error instanceof Error ? error : undefined)
    }
  }
  socket.on('data', onData)
  socket.write(handshake.firstMessage)
}

const headEnd = Buffer.from('\r\n\r\n')

function createConnectHandshake(proxy: Proxy, target: TunnelOptions['target']): Handshake {
  const authority = `${isIP(target.host) === 6 ? `[${target.host}]` : target.host}:${target.port}`
  const { login } = proxy
  const credentials = login && Buffer.from(`${login.user}:${login.password}`).toString('base64')
  const authorization = credentials === null ? '' : `Proxy-Authorization: Basic ${credentials}\r\n`
  return {
    firstMessage: Buffer.from(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${authorization}\r\n`),
    advance(received) {
      const end = received.indexOf(headEnd)
      if (end === -1) return null
      const status = /^HTTP\/1\.[01] (\d{3})(?=[ \r]|$)/.exec(received.toString('latin1', 0, end))?.[1]
      if (status === undefined) throw new ProxyError('the proxy does not speak HTTP')
      if (status === '407') throw new ProxyError('the proxy rejected the user name or password')
      if (!status.startsWith('2')) throw new ProxyError(`the proxy responded with status ${status}`)
      return { consumed: end + headEnd.length, reply: null }
    },
  }
}

/** RFC 1928, section 6. */
const socksReplies = [
  'succeeded',
  'general failure',
  'connection not allowed by its rules',
  'network unreachable',
  'host unreachable',
  'connection refused',
  'time to live expired',
  'command not supported',
  'address type not supported',
]

function encodeSocksRequest(host: string, port: number): Buffer {
  const portBytes = Buffer.from([port >> 8, port & 0xff])
  const family = isIP(host)
  if (family !== 0) {
    const address = Buffer.from(ipaddr.parse(host).toByteArray())
    return Buffer.concat([Buffer.from([5, 1, 0, family === 4 ? 1 : 4]), address, portBytes])
  }
  const name = Buffer.from(host)
  if (name.length > 255) throw new ProxyError('the host name of the upstream is too long for SOCKS 5')
  return Buffer.concat([Buffer.from([5, 1, 0, 3, name.length]), name, portBytes])
}

/** The length of the reply to a connect request, which depends on its address type (RFC 1928, section 6). */
function socksReplyLength(received: Buffer): number | null {
  const type = received[3]
  if (type === undefined) return null
  if (type === 1) return 10
  if (type === 4) return 22
  const length = received[4]
  return length === undefined ? null : 7 + length
}

function createSocks5Handshake({ login }: Proxy, host: string, port: number): Handshake {
  const request = encodeSocksRequest(host, port)
  const checkVersion = (byte: number | undefined, version: number): void => {
    if (byte !== version) throw new ProxyError('the proxy does not speak SOCKS 5')
  }
  const encodeLogin = (): Buffer => {
    if (!login) throw new ProxyError('the proxy requires a user name and a password')
    const [user, password] = [Buffer.from(login.user), Buffer.from(login.password)]
    return Buffer.concat([Buffer.from([1, user.length]), user, Buffer.from([password.length]), password])
  }
  let stage: 'method' | 'login' | 'request' = 'method'
  return {
    firstMessage: Buffer.from(login ? [5, 2, 0, 2] : [5, 1, 0]),
    advance(received) {
      if (received.length < 2) return null
      if (stage === 'method') {
        checkVersion(received[0], 5)
        if (received[1] !== 0 && received[1] !== 2)
          throw new ProxyError('the proxy accepts none of the supported login methods')
        const isLogin = received[1] === 2
        stage = isLogin ? 'login' : 'request'
        return { consumed: 2, reply: isLogin ? encodeLogin() : request }
      }
      if (stage === 'login') {
        if (received[1] !== 0) throw new ProxyError('the proxy rejected the user name or password')
        stage = 'request'
        return { consumed: 2, reply: request }
      }
      checkVersion(received[0], 5)
      const reply = received[1] ?? 0
      if (reply !== 0)
        throw new ProxyError(`the proxy reported: ${socksReplies[reply] ?? `failure ${reply}`}`)
      const bytes = socksReplyLength(received)
      return bytes === null || received.length < bytes ? null : { consumed: bytes, reply: null }
    },
  }
}
