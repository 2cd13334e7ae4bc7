/** Upstreams as the relay calls them: with decrypted credentials and the names of their circuits. */

import { createHash } from 'node:crypto'
import type { Sealer } from '../lib/encryption.ts'
import type { UpstreamCredentialsTable, UpstreamsTable } from '../db/schema/schema.ts'
import type { AddedFields } from '../providers/provider.ts'
import { addedFields } from './added-fields.ts'
import { parseCosts, priceFromCosts } from './costs.ts'
import { lastFourOf, mainCredentialId, type Credential } from './credentials.ts'
import type { Price } from './prices.ts'
import { defaultTimeouts, parseTimeouts, type Timeouts } from './timeouts.ts'
import { upstreamFields, type UpstreamFields } from './upstream-fields.ts'

/** A price and its version, which a hold keeps. */
export interface VersionedPrice extends Price {
  readonly version: number
}

/** One of an upstream's credentials, decrypted. */
export interface LiveCredential extends Pick<Credential, 'id' | 'lastFour' | 'label' | 'weight'> {
  readonly credential: string
  /** The name of its circuit. Another secret gets another circuit, and so do other headers. */
  readonly circuit: string
}

/** An upstream as the relay calls it. */
export interface LiveUpstream extends UpstreamFields {
  readonly credential: string
  /** The credentials that requests may use, at least one. */
  readonly credentials: readonly LiveCredential[]
  /** The name of its circuit. Another address gets another circuit. */
  readonly circuit: string
  readonly proxy: string | null
  /** What is added to every request; null: nothing. */
  readonly added: AddedFields | null
  /** Its `prices` in the platform's currency; what a route costs us is in `LiveRoute.cost`. null: none. */
  readonly price: VersionedPrice | null
  readonly timeouts: Required<Timeouts>
}

export interface UpstreamDelta {
  readonly upstream: UpstreamsTable
  /** In addition to its own. */
  readonly credentials: readonly UpstreamCredentialsTable[]
}

function fingerprint(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 8)
}

/**
 * The upstream's own credential and the enabled additional ones. The own one is left out if it is empty and
 * there are others.
 */
function toLiveCredentials(
  { upstream, credentials }: UpstreamDelta,
  { own, headers }: { readonly own: string; readonly headers: string },
  sealer: Sealer,
): LiveCredential[] {
  const main: LiveCredential = {
    id: mainCredentialId,
    credential: own,
    lastFour: lastFourOf(own),
    label: '',
    weight: 1,
    circuit: `${upstream.id}/${mainCredentialId}.${fingerprint(own + headers)}`,
  }
  const others = credentials.flatMap((row): LiveCredential[] => {
    if (row.enabled === 0) return []
    const credential = sealer.unseal(row.credential, row.id)
    const { id, last_four: lastFour, label, weight } = row
    return [
      { id, credential, lastFour, label, weight, circuit: `${id}.${fingerprint(credential + headers)}` },
    ]
  })
  return own === '' && others.length > 0 ? others : [main, ...others]
}

/** Decrypts an upstream's row. */
export function toLiveUpstream(delta: UpstreamDelta, sealer: Sealer): LiveUpstream {
  const row = delta.upstream
  const costs = parseCosts(row.prices)
  const credential = sealer.unseal(row.credential, row.id)
  const added = addedFields(row, sealer)
  const headers = added === null ? '' : added.headers.join('\n')
  const proxy = row.proxy === null ? null : sealer.unseal(row.proxy, row.id)
  return {
    ...upstreamFields(row),
    credential,
    credentials: toLiveCredentials(delta, { own: credential, headers }, sealer),
    circuit: `${row.id}.${fingerprint(`${row.base_url} ${proxy ?? ''}`)}`,
    proxy,
    added,
    price: costs === null ? null : { ...priceFromCosts(costs, 'prices'), version: 0 },
    timeouts: { ...defaultTimeouts, ...parseTimeouts(row.timeouts) },
  }
}
