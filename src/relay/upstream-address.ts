/** Upstream addresses, taken apart once. */
import { originOf, type Origin } from '../lib/http-client/http-client.ts'
import { proxyOf } from '../lib/http-client/proxy.ts'

/** Addresses are few and the same again and again; parsing one costs more than finding it. */
const addresses = new Map<string, { readonly origin: Origin; readonly path: string }>()
const mostAddresses = 1000

/** Where a URL leads, and through which proxy. Throws TypeError for one that cannot be called. */
export function addressOf(
  url: string,
  proxy: string | null,
): { readonly origin: Origin; readonly path: string } {
  const key = proxy === null ? url : `${url} ${proxy}`
  const known = addresses.get(key)
  if (known) return known
  const { pathname, search } = new URL(url)
  const address = { origin: originOf(url, proxy === null ? null : proxyOf(proxy)), path: pathname + search }
  if (addresses.size >= mostAddresses) addresses.clear()
  addresses.set(key, address)
  return address
}
