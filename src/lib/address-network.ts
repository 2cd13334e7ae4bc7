/** The network of one customer: an IPv4 address, or the /64 that providers assign to a single line or server. */
import ipaddr from 'ipaddr.js'

/**
 * An IPv4-mapped address counts as IPv4, and one of NAT64 (RFC 6052) stands for a single IPv4 address. Text that is not
 * an address is its own network.
 */
export function addressNetwork(address: string): string {
  return ipv6Prefix(address, 64)
}

/** The network of a site, often a /48 of IPv6 (RFC 6177). null for all other addresses. */
export function siteNetwork(address: string): string | null {
  const site = ipv6Prefix(address, 48)
  return site.endsWith('/48') ? site : null
}

function ipv6Prefix(address: string, bits: 48 | 64): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv4 || parsed.range() === 'rfc6052') return parsed.toString()
  const prefix = parsed.parts.slice(0, bits / 16).map((part) => part.toString(16))
  return `${prefix.join(':')}::/${bits}`
}
