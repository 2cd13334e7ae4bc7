/**
 * A way through a proxy: a socket to it, and the words by which it connects us to where we want to go. What comes out
 * is a connection as if it had been made directly; TLS to the upstream goes inside, so a proxy sees nothing of it.
 */
import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls, type SecureContext } from 'node:tls'
import ipaddr from 'ipaddr.js'
import type { Proxy } from './proxy.ts'

export interface TunnelParts {
  readonly proxy: Proxy
  /** Where it leads: a name, or an address without brackets. */
  readonly target: { readonly host: string; readonly port: number }
  /** Guards the proxy's own name, and the target's where it is resolved here. */
  readonly lookup: LookupFunction
  readonly secureContext: SecureContext
}

/** The proxy did not let us through; the message is fit for an operator. */
export class ProxyError extends Error {
  readonly code = 'ERR_PROXY'
}

/** Asks a proxy for a connection: what to say next after what it has said. */
interface Handshake {
  /** The first words. */
  readonly opening: Buffer
  /**
   * `said`: all that the proxy has said since the last step. More words to say and how many bytes they answer, `done`
   * with the bytes taken, or null when more has to come. Throws a ProxyError.
   */
  take(said: Buffer): { readonly taken: number; readonly words: Buffer | null } | null
}

const mostHandshakeBytes = 16_384

/**
 * Opens a way through a proxy. `onOpen` gets the socket, from which nothing has been read that belongs to the target;
 * errors (ProxyError among them) are the socket's.
 */
export function openTunnel(parts: TunnelParts, onOpen: () => void): Socket {
  const { proxy, lookup, secureContext } = parts
  const { host, port } = proxy
  const common = { host, port, lookup, noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000 }
  const servername = isIP(host) === 0 ? host.replace(/\.$/, '') : ''
  const socket = proxy.tls ? connectTls({ ...common, secureContext, servername }) : connect(common)
  socket.once(proxy.tls ? 'secureConnect' : 'connect', () => {
    if (proxy.kind !== 'socks5') return speak(socket, handshakeOf(parts, parts.target.host), onOpen)
    resolved(parts, (error, address) => {
      if (error) socket.destroy(error)
      else speak(socket, handshakeOf(parts, address), onOpen)
    })
  })
  return socket
}

function resolved(
  { target, lookup }: TunnelParts,
  done: (error: Error | null, address: string) => void,
): void {
  if (isIP(target.host) !== 0) return done(null, target.host)
  lookup(target.host, { all: false }, (error, address) => {
    done(error, typeof address === 'string' ? address : '')
  })
}

function handshakeOf(parts: TunnelParts, host: string): Handshake {
  const { proxy, target } = parts
  return proxy.kind === 'connect' ? httpConnect(proxy, target) : socks5(proxy, host, target.port)
}

function speak(socket: Socket, handshake: Handshake, onOpen: () => void): void {
  let said: Buffer = Buffer.alloc(0)
  const onData = (bytes: Buffer): void => {
    said = Buffer.concat([said, bytes])
    try {
      for (let step = handshake.take(said); step !== null; step = handshake.take(said)) {
        said = said.subarray(step.taken)
        if (step.words !== null) {
          socket.write(step.words)
          continue
        }
        socket.off('data', onData)
        // Who speaks before being spoken to is no HTTP or TLS server.
        if (said.length > 0) throw new ProxyError('the proxy sent more than its answer')
        return onOpen()
      }
      if (said.length > mostHandshakeBytes) throw new ProxyError('the proxy’s answer is too long')
    } catch (error) {
      socket.destroy(error instanceof Error ? error : undefined)
    }
  }
  socket.on('data', onData)
  socket.write(handshake.opening)
}

const headEnd = Buffer.from('\r\n\r\n')

function httpConnect(proxy: Proxy, target: TunnelParts['target']): Handshake {
  const authority = `${isIP(target.host) === 6 ? `[${target.host}]` : target.host}:${target.port}`
  const { login } = proxy
  const words = login && Buffer.from(`${login.user}:${login.password}`).toString('base64')
  const authorization = words === null ? '' : `Proxy-Authorization: Basic ${words}\r\n`
  return {
    opening: Buffer.from(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${authorization}\r\n`),
    take(said) {
      const end = said.indexOf(headEnd)
      if (end === -1) return null
      const status = /^HTTP\/1\.[01] (\d{3})/.exec(said.toString('latin1', 0, end))?.[1]
      if (status === undefined) throw new ProxyError('the proxy does not speak HTTP')
      if (status === '407') throw new ProxyError('the proxy wants another user name or password')
      if (!status.startsWith('2')) throw new ProxyError(`the proxy answered with status ${status}`)
      return { taken: end + headEnd.length, words: null }
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

function socksTarget(host: string, port: number): Buffer {
  const ending = Buffer.from([port >> 8, port & 0xff])
  const family = isIP(host)
  if (family !== 0) {
    const address = Buffer.from(ipaddr.parse(host).toByteArray())
    return Buffer.concat([Buffer.from([5, 1, 0, family === 4 ? 1 : 4]), address, ending])
  }
  const name = Buffer.from(host)
  if (name.length > 255) throw new ProxyError('the name of the upstream is too long for the proxy')
  return Buffer.concat([Buffer.from([5, 1, 0, 3, name.length]), name, ending])
}

/** How long the answer to the request for a connection is: its address tells. RFC 1928, section 6. */
function socksReplyBytes(said: Buffer): number | null {
  const type = said[3]
  if (type === undefined) return null
  if (type === 1) return 10
  if (type === 4) return 22
  const length = said[4]
  return length === undefined ? null : 7 + length
}

function socks5({ login }: Proxy, host: string, port: number): Handshake {
  const request = socksTarget(host, port)
  const isVersion = (byte: number | undefined, version: number): void => {
    if (byte !== version) throw new ProxyError('the proxy does not speak SOCKS 5')
  }
  const loginWords = (): Buffer => {
    if (!login) throw new ProxyError('the proxy wants a user name and a password')
    const [user, password] = [Buffer.from(login.user), Buffer.from(login.password)]
    return Buffer.concat([Buffer.from([1, user.length]), user, Buffer.from([password.length]), password])
  }
  let stage: 'method' | 'login' | 'request' = 'method'
  return {
    opening: Buffer.from(login ? [5, 2, 0, 2] : [5, 1, 0]),
    take(said) {
      if (said.length < 2) return null
      if (stage === 'method') {
        isVersion(said[0], 5)
        if (said[1] !== 0 && said[1] !== 2) throw new ProxyError('the proxy takes no login that we have')
        const isLogin = said[1] === 2
        stage = isLogin ? 'login' : 'request'
        return { taken: 2, words: isLogin ? loginWords() : request }
      }
      if (stage === 'login') {
        if (said[1] !== 0) throw new ProxyError('the proxy wants another user name or password')
        stage = 'request'
        return { taken: 2, words: request }
      }
      isVersion(said[0], 5)
      const reply = said[1] ?? 0
      if (reply !== 0) throw new ProxyError(`the proxy says: ${socksReplies[reply] ?? `failure ${reply}`}`)
      const bytes = socksReplyBytes(said)
      return bytes === null || said.length < bytes ? null : { taken: bytes, words: null }
    },
  }
}
