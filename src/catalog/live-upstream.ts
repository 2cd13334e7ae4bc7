/** Upstreams as the relay calls them: with their credentials opened, and the names their health is kept under. */

import { createHash } from 'node:crypto'
import type { Sealer } from '../lib/encryption.ts'
import type { UpstreamSettings } from '../providers/provider.ts'
import type { UpstreamCredentialsTable, UpstreamsTable } from '../db/schema/schema.ts'
import { lastFourOf, mainCredential } from './credentials.ts'
import type { Price } from './prices.ts'
import {
  defaultTimeouts,
  parsedCosts,
  parsedSettings,
  parsedTimeouts,
  upstreamPrice,
  type UpstreamTimeouts,
} from './upstream-fields.ts'

/** A price and its version: what a hold freezes. */
export interface VersionedPrice extends Price {
  readonly version: number
}

/** One of an upstream's credentials, opened. */
export interface LiveCredential {
  readonly id: string
  readonly credential: string
  readonly lastFour: string | null
  readonly label: string
  readonly weight: number
  /** Its name for what is known of its health: another secret is another name. */
  readonly circuit: string
}

/** An upstream as the relay calls it. */
export interface LiveUpstream {
  readonly id: string
  readonly name: string
  readonly provider: string
  readonly baseUrl: string
  readonly credential: string
  /** Those that calls may use, at least one. */
  readonly credentials: readonly LiveCredential[]
  /** Its name for what is known of its health: another address is another name. */
  readonly circuit: string
  readonly proxy: string | null
  /** Lower is tried first. */
  readonly priority: number
  readonly weight: number
  /** What it costs us, in the platform's currency; null is unknown. */
  readonly price: VersionedPrice | null
  readonly timeouts: Required<UpstreamTimeouts>
  readonly onAbort: 'cancel' | 'drain'
  readonly enabled: boolean
  readonly settings: UpstreamSettings
  /** How often it is checked when nobody asks it; null is never. */
  readonly healthCheckMs: number | null
}

export interface UpstreamDelta {
  readonly upstream: UpstreamsTable
  /** Beside its own. */
  readonly credentials: readonly UpstreamCredentialsTable[]
}

function fingerprint(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 8)
}

/** Its own, unless it is empty and others are there, and the others that are enabled. */
function liveCredentials(
  { upstream, credentials }: UpstreamDelta,
  own: string,
  sealer: Sealer,
): LiveCredential[] {
  const main: LiveCredential = {
    id: mainCredential,
    credential: own,
    lastFour: lastFourOf(own),
    label: '',
    weight: 1,
    circuit: `${upstream.id}/${mainCredential}.${fingerprint(own)}`,
  }
  const others = credentials.flatMap((row): LiveCredential[] => {
    if (row.enabled === 0) return []
    const credential = sealer.unseal(row.credential, row.id)
    const { id, last_four: lastFour, label, weight } = row
    return [{ id, credential, lastFour, label, weight, circuit: `${id}.${fingerprint(credential)}` }]
  })
  return own === '' && others.length > 0 ? others : [main, ...others]
}

/** The row, opened. */
export function liveUpstream(delta: UpstreamDelta, sealer: Sealer): LiveUpstream {
  const row = delta.upstream
  const costs = parsedCosts(row.prices)
  const credential = sealer.unseal(row.credential, row.id)
  const proxy = row.proxy === null ? null : sealer.unseal(row.proxy, row.id)
  return {
    id: row.id,
    name: row.name,
    provider: row.provider,
    baseUrl: row.base_url,
    credential,
    credentials: liveCredentials(delta, credential, sealer),
    circuit: `${row.id}.${fingerprint(`${row.base_url} ${proxy ?? ''}`)}`,
    proxy,
    priority: row.priority,
    weight: row.weight,
    price: costs === null ? null : { ...upstreamPrice(costs), version: 0 },
    timeouts: { ...defaultTimeouts, ...parsedTimeouts(row.timeouts) },
    onAbort: row.on_abort,
    enabled: row.enabled === 1,
    settings: parsedSettings(row.settings),
    healthCheckMs: row.health_check_ms,
  }
}
