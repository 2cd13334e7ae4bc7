/** How upstreams are, as the automation contract tells it. */

import assert from 'node:assert/strict'

import type { House } from './test-server.ts'

export interface Standing {
  state: 'closed' | 'open' | 'half-open'
  since: string
  why: string
  next_probe_at: string | null
}

export interface UpstreamHealth extends Standing {
  upstream: string
  name: string
  model: string
  models: string[]
  requests: number
  error_rate: number
  latency_ms: number | null
  credentials: (Standing & { id: string; label: string; last_four: string | null })[]
}

/** The health of an upstream's model; without one, of the only one that is routed to it. */
export async function healthOf(house: House, upstream: string, model?: string): Promise<UpstreamHealth> {
  const { data } = await house.admin<{ data: UpstreamHealth[] }>('GET', '/upstreams/health')
  const found = data.filter((each) => each.upstream === upstream && (model ?? each.model) === each.model)
  const [only] = found
  assert.ok(only && found.length === 1, `${found.length} entries for ${upstream}`)
  return only
}
