/** The network of one customer: an IPv4 address, or the /64 that providers assign to a single line or server. */
import ipaddr from 'ipaddr.js'

/** An IPv6-mapped address counts as IPv4. Text that is not an address is its own network. */
export function addressNetwork(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv4) return parsed.toString()
  const prefix = parsed.parts.slice(0, 4).map((part) => part.toString(16))
  return `${prefix.join(':')}::/64`
}
