/** Why a request did not end well: at which stage, and who can do something about it. The words are the console's. */
import type { z } from 'zod'
import type { failure } from '../console/contract/usage.ts'

type Failure = z.infer<typeof failure>
type Place = Omit<Failure, 'cause'>

const byCaller: Place = { stage: 'request', who: 'caller' }
const byAccess: Place = { stage: 'access', who: 'caller' }
const byUpstream: Place = { stage: 'upstream', who: 'operator' }
const byProvider: Place = { stage: 'upstream', who: 'provider' }

const places: Readonly<Record<string, Place>> = {
  invalid_request: byCaller,
  invalid_json: byCaller,
  request_too_large: byCaller,
  unsupported_media_type: byCaller,
  idempotency_key_reused: byCaller,
  idempotency_conflict: byCaller,
  model_not_found: byCaller,
  invalid_api_key: byAccess,
  permission_denied: byAccess,
  address_not_allowed: byAccess,
  model_not_allowed: byAccess,
  account_suspended: { stage: 'access', who: 'operator' },
  rate_limit_exceeded: { stage: 'limits', who: 'caller' },
  insufficient_quota: { stage: 'money', who: 'caller' },
  spend_cap_exceeded: { stage: 'money', who: 'caller' },
  upstream_unavailable: { stage: 'routing', who: 'operator' },
  service_unavailable: { stage: 'relay', who: 'operator' },
  server_error: { stage: 'relay', who: 'operator' },
  // Faults of upstreams, as the relay names them.
  request: { stage: 'upstream', who: 'caller' },
  missing: byUpstream,
  unsupported: { stage: 'upstream', who: 'caller' },
  credential: byUpstream,
  forbidden: byUpstream,
  connection: byUpstream,
  rate: byProvider,
  unavailable: byProvider,
  timeout: byProvider,
  garbage: byProvider,
  truncated: byProvider,
}

export function placeOfCause(cause: string): Failure {
  return { cause, ...(places[cause] ?? { stage: 'relay', who: 'nobody' }) }
}
