/** The networks by which attempts of a client are counted. */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

export interface ClientNetwork {
  readonly network: string
  /** How many times the limit of a single client this network may use. */
  readonly scale: number
}

/**
 * An IPv4 address counts whole. A host has a /64 of IPv6 addresses to choose from (RFC 4291, 2.5.1), so that counts as
 * one; a site often has a /48 (RFC 6177), which counts as ten. The narrowest network comes first.
 */
export function networksOf(address: string): readonly ClientNetwork[] {
  const [literal = ''] = address.split('%')
  const parsed = isIP(literal) === 0 ? null : ipaddr.process(literal)
  // An address of NAT64 stands for one IPv4 address.
  if (!(parsed instanceof ipaddr.IPv6) || parsed.range() === 'rfc6052')
    return [{ network: parsed?.toString() ?? literal, scale: 1 }]
  const prefix = (bits: number): string =>
    `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/${bits}`).toString()}/${bits}`
  return [
    { network: prefix(64), scale: 1 },
    { network: prefix(48), scale: 10 },
  ]
}
