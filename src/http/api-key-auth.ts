/**
 * Authenticates callers by their API key, and checks that the key may be used now and from this address. Lookups are
 * cached by the raw header until any key, account or tier changes.
 */
import { isIP, isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'
import { allowsAddress, cleanNetworks, compileNetworks, type NetworkList } from '../accounts/allowlists.ts'
import type { Caller, Directory } from '../accounts/directory.ts'
import { hashKey, isWellFormedKey } from '../accounts/key-secret.ts'
import { apiError } from '../errors.ts'
import { parseBearer } from './header-values.ts'

const maxCachedKeys = 10_000

export class ApiKeyAuth {
  readonly #directory: Directory
  readonly #trustedProxies: NetworkList | null
  readonly #cache = new Map<string, Caller>()

  constructor(directory: Directory, trustProxy: readonly string[]) {
    this.#directory = directory
    this.#trustedProxies = compileNetworks(cleanNetworks(trustProxy))
  }

  /** Called when a key, an account or a tier has changed. */
  clearCache(): void {
    this.#cache.clear()
  }

  /** The caller of an `Authorization` header; `null` for an unknown key. Throws 401 if the header has no valid key. */
  authenticate(authorization: string | undefined): Caller | null {
    if (authorization === undefined) throw apiError('invalid_api_key')
    const known = this.#cache.get(authorization)
    if (known) return known
    const secret = parseBearer(authorization)
    if (secret === undefined || !isWellFormedKey(secret)) throw apiError('invalid_api_key')
    const caller = this.#directory.callerByKeyHash(hashKey(secret))
    if (!caller) return null
    if (this.#cache.size >= maxCachedKeys) this.#cache.clear()
    this.#cache.set(authorization, caller)
    return caller
  }

  /** Like `authenticate`, but accepts `x-api-key` too, unless it is another service's key and `Authorization` is set. */
  authenticateEither(apiKey: string | undefined, authorization: string | undefined): Caller | null {
    if (apiKey === undefined) return this.authenticate(authorization)
    if (authorization !== undefined && !isWellFormedKey(apiKey)) return this.authenticate(authorization)
    return this.authenticate(`Bearer ${apiKey}`)
  }

  /** Throws 401 for a disabled or expired key, 403 for a suspended account or an address that is not allowed. */
  authorize(caller: Caller, peer: string | undefined, forwardedFor: string | undefined): void {
    if (caller.keyStatus === 'disabled')
      throw apiError('invalid_api_key', { message: 'This API key is disabled.' })
    if (caller.expiresAt !== null && caller.expiresAt <= Date.now()) {
      throw apiError('invalid_api_key', { message: 'This API key has expired.' })
    }
    if (caller.accountStatus === 'suspended') throw apiError('account_suspended')
    if (caller.networks === null) return
    if (!allowsAddress(caller.networks, this.clientAddress(peer, forwardedFor)))
      throw apiError('address_not_allowed')
  }

  /** Whether connections from this address may come from many clients: of a proxy, or of the relay's own machine. */
  isLocalOrProxy(peer: string): boolean {
    const address = normalizeAddress(peer)
    if (isIP(address) === 0) return false
    const isLoopback = ipaddr.parse(address).range() === 'loopback'
    return isLoopback || (this.#trustedProxies !== null && allowsAddress(this.#trustedProxies, address))
  }

  /**
   * The caller's address: the peer's, unless the peer is a trusted proxy; then the last address in `X-Forwarded-For`
   * that is not a trusted proxy's.
   */
  clientAddress(peer = '', forwardedFor = ''): string {
    const trusted = this.#trustedProxies
    let address = normalizeAddress(peer)
    if (!trusted) return address
    // From the end: a caller may have sent thousands of addresses before those of the proxies.
    let end = forwardedFor.length
    while (end >= 0 && isIP(address) !== 0 && allowsAddress(trusted, address)) {
      const comma = end === 0 ? -1 : forwardedFor.lastIndexOf(',', end - 1)
      const hop = normalizeAddress(forwardedFor.slice(comma + 1, end).trim())
      if (isIP(hop) === 0) break
      address = hop
      end = comma
    }
    return address
  }
}

/**
 * Without port, brackets and the zone of a link-local address; IPv4-mapped addresses become IPv4. Text that is not an
 * address is returned as it is.
 */
function normalizeAddress(address: string): string {
  const bare =
    /^\[([^\]]+)\](?::\d+)?$/.exec(address)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(address)?.[1] ?? address
  // Zones are names of interfaces, which a caller may choose and ipaddr.js may reject.
  const plain = isIPv6(bare) ? (bare.split('%', 1)[0] ?? '') : bare
  return isIP(plain) === 0 ? bare : ipaddr.process(plain).toString()
}
