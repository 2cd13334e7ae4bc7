/** Why a request failed: at which stage, and who can act on it. The console has the texts. */
import { z } from 'zod'
import type { StoredRequest } from '../../usage/request-pages.ts'

/** The stage at which the request ended, and who can act on it. */
export const failure = z.object({
  cause: z.string(),
  stage: z.enum(['request', 'access', 'limits', 'money', 'routing', 'upstream', 'relay', 'caller']),
  /** `relay`: its operator. */
  owner: z.enum(['caller', 'relay', 'upstream']),
})

type Failure = z.infer<typeof failure>
type FailureOrigin = Omit<Failure, 'cause'>

const byCaller: FailureOrigin = { stage: 'request', owner: 'caller' }
const byAccess: FailureOrigin = { stage: 'access', owner: 'caller' }
const byUpstream: FailureOrigin = { stage: 'upstream', owner: 'relay' }
const byProvider: FailureOrigin = { stage: 'upstream', owner: 'upstream' }

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
  account_suspended: { stage: 'access', owner: 'relay' },
  rate_limit_exceeded: { stage: 'limits', owner: 'caller' },
  insufficient_quota: { stage: 'money', owner: 'caller' },
  spend_cap_exceeded: { stage: 'money', owner: 'caller' },
  upstream_unavailable: { stage: 'routing', owner: 'relay' },
  service_unavailable: { stage: 'relay', owner: 'relay' },
  server_error: { stage: 'relay', owner: 'relay' },
  // Upstream errors as the relay names them.
  request: { stage: 'upstream', owner: 'caller' },
  missing: byUpstream,
  unsupported: { stage: 'upstream', owner: 'caller' },
  credential: byUpstream,
  forbidden: byUpstream,
  connection: byUpstream,
  rate: byProvider,
  unavailable: byProvider,
  timeout: byProvider,
  garbage: byProvider,
  truncated: byProvider,
  unknown_finish: byProvider,
}

export function classifyFailure(cause: string): Failure {
  return { cause, ...(originByCause[cause] ?? { stage: 'relay', owner: 'relay' }) }
}

/** Why a request failed; null if it did not. */
export function findFailure(row: Pick<StoredRequest, 'outcome' | 'fault' | 'error_code'>): Failure | null {
  if (row.outcome === 'ok') return null
  if (row.outcome === 'aborted') return { cause: 'aborted', stage: 'caller', owner: 'caller' }
  if (row.outcome === 'truncated')
    return classifyFailure(row.error_code === null ? 'unknown_finish' : 'truncated')
  return classifyFailure(row.fault ?? row.error_code ?? 'server_error')
}
