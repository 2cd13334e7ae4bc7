/**
 * The URL of an outgoing proxy as the operator writes it: `http://` or `https://` for HTTP CONNECT (RFC 9110, 9.3.6),
 * `socks5://` and `socks5h://` for SOCKS 5 (RFC 1928), optionally with a user name and password.
 * With `socks5`, names are resolved here and checked like those of direct requests; with `socks5h` and CONNECT, the
 * proxy resolves them.
 */

export interface Proxy {
  readonly kind: 'connect' | 'socks5' | 'socks5h'
  /** The connection to the proxy itself uses TLS. */
  readonly tls: boolean
  /** A name, or an IP address without brackets. */
  readonly host: string
  readonly port: number
  /** Host and port as written in a URL. */
  readonly authority: string
  readonly login: { readonly user: string; readonly password: string } | null
  /** Equal for the same proxy and login. */
  readonly key: string
}

const kinds: Readonly<Record<string, Proxy['kind']>> = {
  'http:': 'connect',
  'https:': 'connect',
  'socks5:': 'socks5',
  'socks5h:': 'socks5h',
}
const defaultPorts: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }
const defaultSocksPort = 1080
/** RFC 1929: the lengths of user name and password are one byte each. */
const maxLoginBytes = 255

/**
 * Parses the URL of a proxy.
 * @throws TypeError that names the problem and never repeats the login
 */
export function parseProxy(text: string): Proxy {
  if (!URL.canParse(text)) throw new TypeError('must be a URL such as http://proxy.example:3128')
  const url = new URL(text)
  const kind = kinds[url.protocol]
  if (kind === undefined) throw new TypeError('must begin with http://, https://, socks5:// or socks5h://')
  if (url.hostname === '' || !/^\/?$/.test(url.pathname) || url.search !== '' || url.hash !== '') {
    throw new TypeError('must consist of a host and a port, without a path')
  }
  const tls = url.protocol === 'https:'
  const defaultPort = defaultPorts[url.protocol] ?? defaultSocksPort
  const port = url.port === '' ? defaultPort : Number(url.port)
  return {
    kind,
    tls,
    host: url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname,
    port,
    authority: `${url.hostname}:${port}`,
    login: parseLogin(url),
    key: url.href,
  }
}

function parseLogin(url: URL): Proxy['login'] {
  if (url.username === '' && url.password === '') return null
  const decode = (part: string): string => {
    try {
      return decodeURIComponent(part)
    } catch {
      throw new TypeError('must have a percent-encoded user name and password')
    }
  }
  const login = { user: decode(url.username), password: decode(url.password) }
  for (const part of [login.user, login.password]) {
    if (Buffer.byteLength(part) > maxLoginBytes)
      throw new TypeError(`must have a user name and password of at most ${maxLoginBytes} bytes each`)
  }
  return login
}
