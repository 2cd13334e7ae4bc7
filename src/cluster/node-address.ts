/** The address under which the operator reaches a node, for lists of nodes. */
import type { NetworkInterfaceInfo } from 'node:os'
import type { Config } from '../config.ts'

/**
 * `host:port`: HOST, or, if the node listens on all interfaces, the first address of the machine that other machines can
 * use, IPv4 preferred.
 */
export function nodeAddress(
  { host, port }: Pick<Config, 'host' | 'port'>,
  interfaces: Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>,
): string {
  const isWildcard = ['0.0.0.0', '::', ''].includes(host)
  const external = Object.values(interfaces).flatMap(
    (each) => each?.filter(({ internal }) => !internal) ?? [],
  )
  const found = external.find(({ family }) => family === 'IPv4') ?? external[0]
  const address = isWildcard ? (found?.address ?? host) : host
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
}
