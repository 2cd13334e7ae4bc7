/**
 * One outgoing HTTP/1.1 request: its origin, its validated header lines, its bytes.
 * Anything that could break out of a line (CR, LF, spaces in a path) is rejected here, once, so that later code need not check.
 */
import type { Socket } from 'node:net'
import type { Proxy } from './proxy.ts'

/** The destination of requests; each origin has its own connections. Created by {@link parseOrigin}. */
export interface Origin {
  readonly tls: boolean
  /** A name, or an IP address without brackets. */
  readonly host: string
  readonly port: number
  /** The value of the `Host` header. */
  readonly authority: string
  /** The proxy to connect through, if any. */
  readonly proxy: Proxy | null
  /** Equal for the same origin through the same proxy. */
  readonly key: string
}

declare const checked: unique symbol

/** Header lines as they are sent: `name: value` and CRLF each. Created by {@link encodeHeaders}. */
export type EncodedHeaders = string & { readonly [checked]: true }

export interface OutgoingRequest {
  readonly origin: Origin
  readonly method: 'DELETE' | 'GET' | 'HEAD' | 'POST'
  /** Percent-encoded path and query, beginning with a slash. */
  readonly path: string
  readonly headers: EncodedHeaders
  /** Kept until the exchange ends, because it may be sent twice. */
  readonly body: readonly Buffer[]
  /** For DNS, connect and TLS handshake together, if no idle connection is available. */
  readonly connectTimeoutMs: number
}

/** @throws TypeError if the URL is not an http or https URL */
export function parseOrigin(url: string | URL, proxy: Proxy | null = null): Origin {
  const { protocol, hostname, host, port } = new URL(url)
  const tls = protocol === 'https:'
  if (!tls && protocol !== 'http:') throw new TypeError(`Unsupported protocol: ${protocol}`)
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  const defaultPort = tls ? 443 : 80
  return {
    tls,
    host: bare,
    port: port === '' ? defaultPort : Number(port),
    authority: host,
    proxy,
    key: proxy === null ? `${protocol}//${host}` : `${protocol}//${host} by ${proxy.key}`,
  }
}

const headerName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/
const path = /^\/[\x21-\x7e]*$/

/** Set by the client itself, or hop-by-hop headers that the client does not support. */
const reservedHeaders = new Set([
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
 * Encodes names and values as header lines, appended to those in `before`.
 * @throws TypeError that names the header (never its value, which may be a secret) if it contains a control character
 * such as a line break, is not Latin-1, or is set by the client itself
 */
export function encodeHeaders(
  headers: Iterable<readonly [name: string, value: string]>,
  before?: EncodedHeaders,
): EncodedHeaders {
  let lines: string = before ?? ''
  for (const [name, value] of headers) {
    if (!headerName.test(name)) throw new TypeError('A header name contains characters that are not allowed')
    if (reservedHeaders.has(name.toLowerCase()))
      throw new TypeError(`The header ${name} is set by the client`)
    if (!headerValue.test(value)) throw new TypeError(`The header ${name} has a value that is not allowed`)
    lines += `${name}: ${value}\r\n`
  }
  return lines as EncodedHeaders
}

/** Up to this size, copying into one buffer and writing once costs less than a gathered write. */
const maxJoinedBytes = 16_384

function bodyLength(body: readonly Buffer[]): number {
  let bytes = 0
  for (const part of body) bytes += part.length
  return bytes
}

/** @throws TypeError if the path could break out of the request line */
export function validatePath(request: OutgoingRequest): void {
  if (!path.test(request.path))
    throw new TypeError('The request path contains characters that are not allowed')
}

/** Writes a request to a connected socket: small requests in one write, large ones in one gathered write. */
export function writeRequest(socket: Socket, request: OutgoingRequest): void {
  const { method, origin, headers, body } = request
  const bodyBytes = bodyLength(body)
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
