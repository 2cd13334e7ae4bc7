/**
 * Who calls: from the bearer key to the caller behind it, and whether this key may be used now, from here. The
 * lookup by hash is remembered by the raw header until anything about keys changes.
 */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { allowsAddress, cleanNetworks, preparedNetworks, type NetworkList } from '../accounts/allowlists.ts'
import type { Caller, Directory } from '../accounts/directory.ts'
import { hashOfKey, looksLikeKey } from '../accounts/key-secret.ts'
import { refuse } from '../errors.ts'

const mostRemembered = 10_000
const bearer = /^bearer +(\S+) *$/i

export class Callers {
  readonly #directory: Directory
  readonly #trusted: NetworkList | null
  readonly #remembered = new Map<string, Caller>()

  constructor(directory: Directory, trustProxy: readonly string[]) {
    this.#directory = directory
    this.#trusted = preparedNetworks(cleanNetworks(trustProxy))
  }

  /** Something about keys, accounts or tiers has changed. */
  forget(): void {
    this.#remembered.clear()
  }

  /** The caller behind an `Authorization` header; null: a key that is not known here. Throws 401 for what is no key. */
  identify(authorization: string | undefined): Caller | null {
    if (authorization === undefined) throw refuse('invalid_api_key')
    const known = this.#remembered.get(authorization)
    if (known) return known
    const secret = bearer.exec(authorization)?.[1]
    if (secret === undefined || !looksLikeKey(secret)) throw refuse('invalid_api_key')
    const caller = this.#directory.keyByHash(hashOfKey(secret))
    if (!caller) return null
    if (this.#remembered.size >= mostRemembered) this.#remembered.clear()
    this.#remembered.set(authorization, caller)
    return caller
  }

  /** As `identify`, for callers who may send the key as `x-api-key`. One that is none of ours is another service's. */
  identifyByEither(apiKey: string | undefined, authorization: string | undefined): Caller | null {
    if (apiKey === undefined) return this.identify(authorization)
    if (authorization !== undefined && !looksLikeKey(apiKey)) return this.identify(authorization)
    return this.identify(`Bearer ${apiKey}`)
  }

  /** Throws 401 for a key that is disabled or over, 403 for a suspended account or an address that is not allowed. */
  admit(caller: Caller, peer: string | undefined, forwardedFor: string | undefined): void {
    if (caller.keyStatus === 'disabled')
      throw refuse('invalid_api_key', { message: 'This API key is disabled.' })
    if (caller.expiresAt !== null && caller.expiresAt <= Date.now()) {
      throw refuse('invalid_api_key', { message: 'This API key has expired.' })
    }
    if (caller.accountStatus === 'suspended') throw refuse('account_suspended')
    if (caller.networks === null) return
    if (!allowsAddress(caller.networks, this.addressOf(peer, forwardedFor)))
      throw refuse('address_not_allowed')
  }

  /**
   * The caller's address: the peer's, unless that is a trusted proxy; then the last address in `X-Forwarded-For` that
   * is not a trusted proxy's.
   */
  addressOf(peer = '', forwardedFor = ''): string {
    const trusted = this.#trusted
    let address = plain(peer)
    if (!trusted) return address
    const hops = forwardedFor.split(',').map((hop) => plain(hop.trim()))
    while (hops.length > 0 && isIP(address) !== 0 && allowsAddress(trusted, address)) {
      const hop = hops.pop() ?? ''
      if (isIP(hop) === 0) break
      address = hop
    }
    return address
  }
}

/** An address without port, brackets or the IPv4-mapped form. */
function plain(address: string): string {
  const bare =
    /^\[([^\]]+)\](?::\d+)?$/.exec(address)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(address)?.[1] ?? address
  return isIP(bare) === 0 ? bare : ipaddr.process(bare).toString()
}
