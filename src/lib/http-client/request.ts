/**
 * One HTTP/1.1 request on its way out: where it goes, its checked header lines, its bytes.
 * Whatever could break out of a line (CR, LF, spaces in a path) is refused here, once, so that nothing behind needs to look.
 */
import type { Socket } from 'node:net'
import type { Proxy } from './proxy.ts'

/** Where requests go: one set of connections for each. Made by {@link originOf}. */
export interface Origin {
  readonly tls: boolean
  /** A name, or an address without brackets. */
  readonly host: string
  readonly port: number
  /** The value of the `Host` header. */
  readonly authority: string
  /** What stands in between. */
  readonly proxy: Proxy | null
  /** The same for the same origin, reached the same way. */
  readonly key: string
}

declare const checked: unique symbol

/** Header lines as they are sent, `name: value` each with its CRLF. Made by {@link headerLines}. */
export type HeaderLines = string & { readonly [checked]: true }

export interface OutgoingRequest {
  readonly origin: Origin
  readonly method: 'GET' | 'HEAD' | 'POST'
  /** Path and query, beginning with a slash, percent-encoded. */
  readonly path: string
  readonly headers: HeaderLines
  /** Kept until the exchange ends: it may have to be sent twice. */
  readonly body: readonly Buffer[]
  /** For name, connection and TLS handshake together, when no open connection is there. */
  readonly connectTimeoutMs: number
}

/** @throws TypeError when it is not an http or https URL */
export function originOf(url: string | URL, proxy: Proxy | null = null): Origin {
  const { protocol, hostname, host, port } = new URL(url)
  const tls = protocol === 'https:'
  if (!tls && protocol !== 'http:') throw new TypeError(`No HTTP over ${protocol}`)
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  const usualPort = tls ? 443 : 80
  return {
    tls,
    host: bare,
    port: port === '' ? usualPort : Number(port),
    authority: host,
    proxy,
    key: proxy === null ? `${protocol}//${host}` : `${protocol}//${host} by ${proxy.key}`,
  }
}

const headerName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/
const path = /^\/[\x21-\x7e]*$/

/** Set by the client itself, or meaning something between two neighbours that the client does not speak. */
const reserved = new Set([
  'host',
  'content-length',
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'te',
  'trailer',
  'upgrade',
  'expect',
  'accept-encoding',
])

/**
 * Makes header lines from names and values, after those in `before`.
 * @throws TypeError naming the header (never its value, it may be a secret) when a line break or another control
 * character is in it, when it is not Latin-1, or when the client sets it itself
 */
export function headerLines(
  headers: Iterable<readonly [name: string, value: string]>,
  before?: HeaderLines,
): HeaderLines {
  let lines: string = before ?? ''
  for (const [name, value] of headers) {
    if (!headerName.test(name)) throw new TypeError('A header has a name that is not allowed')
    if (reserved.has(name.toLowerCase())) throw new TypeError(`The header ${name} is set by the client`)
    if (!headerValue.test(value)) throw new TypeError(`The header ${name} has a value that is not allowed`)
    lines += `${name}: ${value}\r\n`
  }
  return lines as HeaderLines
}

/** Up to here, one copied buffer and one write cost less than handing several buffers to the system. */
const maxJoinedBytes = 16_384

function bytesIn(body: readonly Buffer[]): number {
  let bytes = 0
  for (const part of body) bytes += part.length
  return bytes
}

/** @throws TypeError when the path could break out of its line */
export function checkPath(request: OutgoingRequest): void {
  if (!path.test(request.path)) throw new TypeError('A request path has characters that are not allowed')
}

/** Writes a request to a connected socket: in one write when it is small, in one gathered write when it is large. */
export function writeRequest(socket: Socket, request: OutgoingRequest): void {
  const { method, origin, headers, body } = request
  const bodyBytes = bytesIn(body)
  const length = method === 'POST' || bodyBytes > 0 ? `content-length: ${bodyBytes}\r\n` : ''
  const head = `${method} ${request.path} HTTP/1.1\r\nhost: ${origin.authority}\r\n${headers}accept-encoding: identity\r\n${length}connection: keep-alive\r\n\r\n`
  if (bodyBytes === 0) {
    socket.write(head, 'latin1')
  } else if (head.length + bodyBytes <= maxJoinedBytes) {
    const joined = Buffer.allocUnsafe(head.length + bodyBytes)
    let at = joined.write(head, 'latin1')
    for (const part of body) {
      joined.set(part, at)
      at += part.length
    }
    socket.write(joined)
  } else {
    socket.cork()
    socket.write(Buffer.from(head, 'latin1'))
    for (const part of body) if (part.length > 0) socket.write(part)
    socket.uncork()
  }
}
