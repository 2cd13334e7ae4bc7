/**
 * Decides which addresses may be called, against server-side request forgery: a user who configures an upstream must
 * not reach our internal network. Only globally routed unicast addresses are allowed, and private networks that the
 * operator listed. Names are checked by the addresses they resolve to at each connection, because DNS may change.
 */
import dns from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'
import { trimTrailing } from './trim-trailing.ts'

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** A network: its first address and its prefix length in bits. */
export type Cidr = readonly [Address, number]

/** Resolves names; has the signature of `dns.lookup`. */
export type AddressResolver = (
  hostname: string,
  options: dns.LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: dns.LookupAddress[]) => void,
) => void

/** The connection was not made, because its address is not allowed. */
export class ForbiddenAddressError extends Error {
  readonly code = 'ERR_FORBIDDEN_ADDRESS'
}

const rangeNames = new Map<string, string>([
  ['unspecified', 'the unspecified address'],
  ['broadcast', 'the broadcast address'],
  ['multicast', 'a multicast address'],
  ['linkLocal', 'a link-local address'],
  ['loopback', 'a loopback address'],
  ['carrierGradeNat', 'a carrier-grade NAT address'],
  ['private', 'a private address'],
  ['uniqueLocal', 'a unique local (private) address'],
  ['rfc6052', 'a NAT64 address'],
  ['6to4', 'a 6to4 address'],
  ['teredo', 'a Teredo address'],
  ['reserved', 'a reserved address'],
])

/** A public address that is the host agent of every Azure machine. */
const azureHostAgent = '168.63.129.16'

/** RFC 4291: global unicast addresses begin with 001; IPv4-compatible and translated forms do not. */
const globalUnicast: Cidr = [ipaddr.IPv6.parse('2000::'), 3]

function isWithin(address: Address, [network, bits]: Cidr): boolean {
  return address.kind() === network.kind() && address.match(network, bits)
}

/**
 * Returns why an address must not be called, as a noun phrase that follows "is", or null if it may be called.
 * An IPv4-mapped address is checked as the IPv4 address that the system would call; other translated forms (NAT64,
 * 6to4, Teredo) are rejected whatever they embed, unless their own prefix is listed.
 */
export function forbiddenReason(addressLiteral: string, allow: readonly Cidr[]): string | null {
  if (addressLiteral.includes('%')) return 'an address with a zone'
  if (isIP(addressLiteral) === 0) return 'not an address'
  let address: Address = ipaddr.parse(addressLiteral)
  if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress()) address = address.toIPv4Address()
  const effective = address
  if (allow.some((cidr) => isWithin(effective, cidr))) return null
  const range = effective.range()
  if (range !== 'unicast') return rangeNames.get(range) ?? `a special address (${range})`
  if (effective.toString() === azureHostAgent) return 'the address of a cloud platform’s host agent'
  if (effective.kind() === 'ipv6' && !isWithin(effective, globalUnicast)) return 'a reserved address'
  return null
}

/**
 * Parses a host as an IP address and returns it in canonical notation, or null if it is a name.
 * Accepts every notation that URLs accept (decimal, octal, hexadecimal and short IPv4, full-width digits, brackets, a
 * trailing dot); source: WHATWG URL, "host parsing".
 */
export function parseHostLiteral(hostname: string): string | null {
  if (/[/?#@\\\s]/.test(hostname)) return null
  const bare = hostname.startsWith('[') && hostname.endsWith(']') ? hostname.slice(1, -1) : hostname
  if (isIP(bare) !== 0 && bare.includes('%')) return bare
  const parsed = URL.parse(bare.includes(':') ? `http://[${bare}]/` : `http://${bare}/`)
  if (parsed === null) return null
  const host = parsed.hostname.startsWith('[') ? parsed.hostname.slice(1, -1) : parsed.hostname
  return isIP(host) === 0 ? null : host
}

function parseCidr(text: string): Cidr {
  const [literal = '', prefix, ...rest] = text.split('/')
  const family = isIP(literal)
  if (family === 0 || literal.includes('%') || rest.length > 0) {
    throw new Error(`"${text}" is not a network: write an address and a prefix length, like 10.0.0.0/8`)
  }
  const address = ipaddr.parse(literal)
  const width = family === 4 ? 32 : 128
  if (prefix !== undefined && (!/^\d{1,3}$/.test(prefix) || Number(prefix) > width)) {
    throw new Error(`"${text}" is not a network: the prefix length must be a number from 0 to ${width}`)
  }
  const bits = prefix === undefined ? width : Number(prefix)
  if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress()) {
    throw new Error(`"${text}" is an IPv4 network in IPv6 notation: write it as IPv4`)
  }
  const first =
    family === 4
      ? ipaddr.IPv4.networkAddressFromCIDR(`${literal}/${bits}`)
      : ipaddr.IPv6.networkAddressFromCIDR(`${literal}/${bits}`)
  if (first.toNormalizedString() !== address.toNormalizedString()) {
    throw new Error(`"${text}" has bits beyond its prefix: did you mean ${first.toString()}/${bits}?`)
  }
  return [address, bits]
}

/**
 * Parses networks separated by commas or spaces; an address without a prefix is a network of one.
 * @throws Error that names the invalid part and how to write it
 */
export function parseCidrs(text: string): Cidr[] {
  return text
    .split(/[\s,]+/)
    .filter((part) => part !== '')
    .map(parseCidr)
}

/**
 * Creates a `lookup` for `net.connect` that returns only allowed addresses. If none is left, the connection fails with
 * a {@link ForbiddenAddressError}.
 */
export function createGuardedLookup(
  allow: readonly Cidr[],
  resolve: AddressResolver = dns.lookup,
): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, [])
      const allowed = addresses.filter(({ address }) => forbiddenReason(address, allow) === null)
      const first = allowed[0]
      if (first === undefined) {
        const address = addresses[0]?.address ?? ''
        const reason = forbiddenReason(address, allow)
        return callback(new ForbiddenAddressError(`${hostname} resolves to ${address}, ${reason}`), [])
      }
      if (options.all) callback(null, allowed)
      else callback(null, first.address, first.family)
    })
  }
}

/**
 * Returns why a URL is not allowed for an upstream, or null if it is. Literal addresses are checked here; names are
 * checked at each connection by {@link createGuardedLookup}. `setting`: where the operator can allow private addresses,
 * for those who may read it.
 */
export function upstreamUrlProblem(url: string, allow: readonly Cidr[], setting?: string): string | null {
  const advice = setting === undefined ? '' : ` Operators can allow private addresses in ${setting}.`
  // eslint-disable-next-line no-control-regex -- URL parsing drops tabs and newlines silently, and reads \ as /
  if (/[\u0000-\u0020\u007f\\]/.test(url))
    return 'The address must not contain spaces, backslashes or control characters.'
  const parsed = URL.parse(url)
  if (parsed === null) return 'The address is not a URL.'
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') {
    return 'The address must begin with https:// or http://.'
  }
  if (parsed.username !== '' || parsed.password !== '') {
    return 'The address must not contain a user name or a password.'
  }
  const literal = parseHostLiteral(parsed.hostname)
  if (literal !== null) {
    const reason = forbiddenReason(literal, allow)
    return reason === null ? null : `The address ${literal} is ${reason}, which is not allowed.${advice}`
  }
  const name = trimTrailing(parsed.hostname, '.')
  const isLocal = name === 'localhost' || name.endsWith('.localhost')
  if (isLocal && ['127.0.0.1', '::1'].every((loopback) => forbiddenReason(loopback, allow) !== null)) {
    return `The name ${parsed.hostname} means a loopback address, which is not allowed.${advice}`
  }
  return null
}
