/** Preloaded into a relay by NODE_OPTIONS: resolves names under .test with the server at NAME_SERVER in every thread. */
import dns from 'node:dns'

const resolver = new dns.Resolver({ timeout: 2000, tries: 1 })
resolver.setServers([process.env['NAME_SERVER'] ?? ''])

const systemLookup = dns.lookup

type Callback = (error: NodeJS.ErrnoException | null, found: dns.LookupAddress[]) => void

/** `dns.lookup` with `all: true`, which is how the relay calls it. */
function lookup(name: string, options: dns.LookupAllOptions, callback: Callback): void {
  if (!/\.test\.?$/i.test(name)) return systemLookup(name, options, callback)
  const found: dns.LookupAddress[] = []
  let pending = 2
  const take = (family: 4 | 6) => (_error: Error | null, addresses?: string[]) => {
    for (const address of addresses ?? []) found.push({ address, family })
    pending -= 1
    if (pending > 0) return
    const missing = Object.assign(new Error(`${name} has no address`), {
      code: 'ENOTFOUND',
      syscall: 'getaddrinfo',
    })
    callback(found.length > 0 ? null : missing, found)
  }
  resolver.resolve4(name, take(4))
  resolver.resolve6(name, take(6))
}

Object.assign(dns, { lookup })
