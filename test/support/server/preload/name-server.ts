/** Preloaded into a relay by NODE_OPTIONS: names under .test are asked of the server at NAME_SERVER, in every thread. */
import dns from 'node:dns'

const resolver = new dns.Resolver({ timeout: 2000, tries: 1 })
resolver.setServers([process.env['NAME_SERVER'] ?? ''])

const system = dns.lookup

type Done = (error: NodeJS.ErrnoException | null, found: dns.LookupAddress[]) => void

/** In the shape that `dns.lookup` has with `all: true`, which is how the relay calls it. */
function lookup(name: string, options: dns.LookupAllOptions, done: Done): void {
  if (!/\.test\.?$/i.test(name)) return system(name, options, done)
  const found: dns.LookupAddress[] = []
  let open = 2
  const take = (family: 4 | 6) => (_error: Error | null, addresses?: string[]) => {
    for (const address of addresses ?? []) found.push({ address, family })
    open -= 1
    if (open > 0) return
    const missing = Object.assign(new Error(`${name} has no address`), {
      code: 'ENOTFOUND',
      syscall: 'getaddrinfo',
    })
    done(found.length > 0 ? null : missing, found)
  }
  resolver.resolve4(name, take(4))
  resolver.resolve6(name, take(6))
}

Object.assign(dns, { lookup })
