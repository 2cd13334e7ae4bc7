/**
 * What a key may be used for and from where: model names (exact, or a prefix followed by `*`) and addresses
 * (CIDRs, IPv4 also in IPv6-mapped form). Validated when saved, and compiled once when loaded so that checks
 * are fast.
 */

import ipaddr from 'ipaddr.js'
import { invalidField } from '../errors.ts'

const maxEntries = 100
const modelPattern = /^[^\s*\p{Cc}]{0,200}\*?$/u

/** Throws 400 naming the entry. An empty list means no restriction and becomes null. */
export function cleanModels(models: readonly string[]): string[] | null {
  if (models.length > maxEntries) throw invalidField('models', `must have at most ${maxEntries} entries`)
  for (const [index, model] of models.entries()) {
    if (model !== '' && modelPattern.test(model)) continue
    throw invalidField(`models[${index}]`, 'must be a model name, with "*" only at its end')
  }
  return models.length === 0 ? null : [...new Set(models)]
}

/** Only dotted-quad IPv4: "127.1" and "0x7f000001" are addresses to some programs but usually typos. */
function isAddress(text: string): boolean {
  return ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text)
}

function parseNetwork(text: string): string | undefined {
  const [address = ''] = text.split('/', 1)
  if (!isAddress(address)) return undefined
  const cidr = address === text ? `${text}/${text.includes(':') ? 128 : 32}` : text
  if (!ipaddr.isValidCIDR(cidr)) return undefined
  const [network, bits] = ipaddr.parseCIDR(cidr)
  return `${network.toString()}/${bits}`
}

/** Throws 400 naming the entry. A single address becomes its CIDR; an empty list becomes null. */
export function cleanNetworks(ips: readonly string[]): string[] | null {
  if (ips.length > maxEntries) throw invalidField('ips', `must have at most ${maxEntries} entries`)
  const networks = ips.map((text, index) => {
    const network = parseNetwork(text)
    if (network === undefined)
      throw invalidField(`ips[${index}]`, 'must be an address or a CIDR such as "10.0.0.0/8"')
    return network
  })
  return networks.length === 0 ? null : [...new Set(networks)]
}

export interface ModelList {
  readonly names: ReadonlySet<string>
  readonly prefixes: readonly string[]
}

export function compileModels(models: readonly string[] | null): ModelList | null {
  if (models === null) return null
  const prefixes = models.filter((model) => model.endsWith('*')).map((model) => model.slice(0, -1))
  return { names: new Set(models), prefixes }
}

export function allowsModel(list: ModelList | null, model: string): boolean {
  if (list === null || list.names.has(model)) return true
  return list.prefixes.some((prefix) => model.startsWith(prefix))
}

export type NetworkList = readonly (readonly [ipaddr.IPv4 | ipaddr.IPv6, number])[]

/** Converts an IPv4-mapped network (`::ffff:10.0.0.0/104`) to the IPv4 network. */
function unmapIpv4([address, bits]: [ipaddr.IPv4 | ipaddr.IPv6, number]): [
  ipaddr.IPv4 | ipaddr.IPv6,
  number,
] {
  if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= 96) {
    return [address.toIPv4Address(), bits - 96]
  }
  return [address, bits]
}

export function compileNetworks(ips: readonly string[] | null): NetworkList | null {
  return ips === null ? null : ips.map((text) => unmapIpv4(ipaddr.parseCIDR(text)))
}

/**
 * `address` is the caller's address as reported by the socket or a trusted proxy. An invalid address is not
 * allowed.
 */
export function allowsAddress(list: NetworkList | null, address: string): boolean {
  if (list === null) return true
  if (!ipaddr.isValid(address)) return false
  const caller = ipaddr.process(address)
  return list.some(([network, bits]) => {
    if (caller instanceof ipaddr.IPv4) return network instanceof ipaddr.IPv4 && caller.match(network, bits)
    return network instanceof ipaddr.IPv6 && caller.match(network, bits)
  })
}
