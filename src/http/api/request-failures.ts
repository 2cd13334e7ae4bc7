/** Why a request failed: at which stage, and who can act on it. The console has the texts. */
import { z } from 'zod'

/** The stage at which the request ended, and who can act on it. */
export const failure = z.object({
  cause: z.string(),
  stage: z.enum(['request', 'access', 'limits', 'money', 'routing', 'upstream', 'relay', 'caller']),
  who: z.enum(['caller', 'operator', 'provider', 'nobody']),
})

type Failure = z.infer<typeof failure>
type FailureOrigin = Omit<Failure, 'cause'>

const byCaller: FailureOrigin = { stage: 'request', who: 'caller' }
const byAccess: FailureOrigin = { stage: 'access', who: 'caller' }
const byUpstream: FailureOrigin = { stage: 'upstream', who: 'operator' }
const byProvider: FailureOrigin = { stage: 'upstream', who: 'provider' }

const originByCause: Readonly<Record<string, FailureOrigin>> = {
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
  // Upstream errors as the relay names them.
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

export function classifyFailure(cause: string): Failure {
  return { cause, ...(originByCause[cause] ?? { stage: 'relay', who: 'nobody' }) }
}
