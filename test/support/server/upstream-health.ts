/** The health of upstreams as the admin API reports it. */

import assert from 'node:assert/strict'

import type { TestServer } from './test-server.ts'

export interface CircuitState {
  state: 'closed' | 'open' | 'half-open'
  since: string
  why: string
  next_probe_at: string | null
}

export interface UpstreamHealth extends CircuitState {
  upstream: string
  name: string
  model: string
  models: string[]
  requests: number
  error_rate: number
  latency_ms: number | null
  credentials: (CircuitState & { id: string; label: string; last_four: string | null })[]
}

/** The health of an upstream for one model; default: the only model routed to it. */
export async function upstreamHealth(
  server: TestServer,
  upstream: string,
  model?: string,
): Promise<UpstreamHealth> {
  const { data } = await server.admin<{ data: UpstreamHealth[] }>('GET', '/upstreams/health')
  const found = data.filter((each) => each.upstream === upstream && (model ?? each.model) === each.model)
  const [only] = found
  assert.ok(only && found.length === 1, `${found.length} entries for ${upstream}`)
  return only
}
