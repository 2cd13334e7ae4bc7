/**
 * A proxy that stands between us and an upstream, as the operator writes it: `http://` or `https://` for HTTP CONNECT
 * (RFC 9110, 9.3.6), `socks5://` and `socks5h://` for SOCKS 5 (RFC 1928), with a user name and password where wanted.
 * With `socks5` names are resolved here, and guarded like those of direct calls; with `socks5h` and CONNECT the proxy
 * resolves them.
 */

export interface Proxy {
  readonly kind: 'connect' | 'socks5' | 'socks5h'
  /** The proxy itself is spoken to over TLS. */
  readonly tls: boolean
  /** A name, or an address without brackets. */
  readonly host: string
  readonly port: number
  /** Host and port as an address writes them. */
  readonly authority: string
  readonly login: { readonly user: string; readonly password: string } | null
  /** The same for the same proxy and login. */
  readonly key: string
}

const kinds: Readonly<Record<string, Proxy['kind']>> = {
  'http:': 'connect',
  'https:': 'connect',
  'socks5:': 'socks5',
  'socks5h:': 'socks5h',
}
const usualPorts: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }
const usualSocksPort = 1080
/** RFC 1929: user name and password have a length of one byte each. */
const mostLoginBytes = 255

/**
 * Takes a proxy's address apart.
 * @throws TypeError that says what is wrong, never repeating the login
 */
export function proxyOf(text: string): Proxy {
  if (!URL.canParse(text)) throw new TypeError('has to be an address such as http://proxy.example:3128')
  const url = new URL(text)
  const kind = kinds[url.protocol]
  if (kind === undefined) throw new TypeError('has to begin with http://, https://, socks5:// or socks5h://')
  if (url.hostname === '' || !/^\/?$/.test(url.pathname) || url.search !== '' || url.hash !== '') {
    throw new TypeError('has to be a host and a port, without a path')
  }
  const tls = url.protocol === 'https:'
  const usualPort = usualPorts[url.protocol] ?? usualSocksPort
  const port = url.port === '' ? usualPort : Number(url.port)
  return {
    kind,
    tls,
    host: url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname,
    port,
    authority: `${url.hostname}:${port}`,
    login: loginOf(url),
    key: url.href,
  }
}

function loginOf(url: URL): Proxy['login'] {
  if (url.username === '' && url.password === '') return null
  const decoded = (part: string): string => {
    try {
      return decodeURIComponent(part)
    } catch {
      throw new TypeError('has a login that is not percent-encoded')
    }
  }
  const login = { user: decoded(url.username), password: decoded(url.password) }
  for (const part of [login.user, login.password]) {
    if (Buffer.byteLength(part) > mostLoginBytes) throw new TypeError('has a login that is too long')
  }
  return login
}
