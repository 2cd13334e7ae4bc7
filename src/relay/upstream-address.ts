/** Upstream addresses, taken apart once. */
import { originOf, type Origin } from '../lib/http-client.ts'

/** Addresses are few and the same again and again; parsing one costs more than finding it. */
const addresses = new Map<string, { readonly origin: Origin; readonly path: string }>()
const mostAddresses = 1000

/** Where a URL leads. Throws TypeError for one that cannot be called. */
export function addressOf(url: string): { readonly origin: Origin; readonly path: string } {
  const known = addresses.get(url)
  if (known) return known
  const { pathname, search } = new URL(url)
  const address = { origin: originOf(url), path: pathname + search }
  if (addresses.size >= mostAddresses) addresses.clear()
  addresses.set(url, address)
  return address
}
