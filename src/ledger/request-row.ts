/** The row of a request: what was requested, its outcome and its cost. */
import type { RequestRow } from '../db/ledger-commit.ts'
import type { SettleCause } from './events.ts'
import type { Usage } from './price.ts'
import { unitsJson } from '../providers/request-units.ts'
import type { Hold } from './state.ts'

/** How a request ended, for its row. Written as JSON to disk: field names are stable. */
export interface RequestOutcome {
  readonly httpStatus: number
  readonly outcome: 'ok' | 'refused' | 'failed' | 'truncated' | 'aborted' | 'ended'
  readonly upstream: string | null
  readonly finish: string | null
  readonly errorCode: string | null
  /** Why no upstream responded, by the last attempt, and which upstream that was. */
  readonly fault?: string | undefined
  readonly faultUpstream?: string | undefined
  readonly firstTokenMs: number | null
  readonly durationMs: number
  /** The attempts, as JSON of the admin API's `attempts`. */
  readonly attempts: string
  /** What the response costs us: nanos as a decimal string, since it is sent as JSON; `null`: unknown. */
  readonly upstreamCost: string | null
  /** The provider reported more usage than the model can have. */
  readonly isClamped: boolean
  readonly stream: boolean
  readonly model: string
  /** What the upstream says about its response; see `RequestsTable`. Absent in outcomes written by earlier releases. */
  readonly modelServed?: string | null
  readonly providerResponseId?: string | null
  readonly fingerprint?: string | null
  /** What it asked for: a name of catalog/operations.ts. */
  readonly operation?: string | null
}

export interface RequestIdentity {
  readonly id: string
  /** When it was admitted, milliseconds since the epoch. */
  readonly at: number
  readonly account: string
  readonly key: string
  readonly amount: bigint
  /** By which the price is multiplied; absent if there was no hold. */
  readonly factorPpm?: number
  /** How many rejected requests the row stands for; absent: it is one request. */
  readonly count?: number
}

export interface RequestBill {
  readonly usage: Usage
  readonly cause: SettleCause
  readonly charge: bigint
  /** What was not charged: it exceeds the bound of the request, or what the account could pay. */
  readonly overrun: bigint
  /** The account's balance after it. */
  readonly balance: bigint
}

/** Marks the last attempt, whose response was charged less than it cost. */
function withClamp(attempts: string): string {
  const records = JSON.parse(attempts) as Record<string, unknown>[]
  return JSON.stringify(records.with(-1, { ...records.at(-1), clamped: true }))
}

export function requestRow(
  identity: RequestIdentity &
    ({ readonly price: { readonly version: number } } | { readonly priceVersion: number }),
  outcome: RequestOutcome,
  bill: RequestBill | null,
): RequestRow {
  return {
    request_id: identity.id,
    at: identity.at,
    account_id: identity.account,
    key_id: identity.key,
    model: outcome.model,
    upstream_id: outcome.upstream,
    http_status: outcome.httpStatus,
    outcome: outcome.outcome,
    stream: outcome.stream ? 1 : 0,
    finish: outcome.finish,
    prompt_tokens: bill?.usage.input ?? 0,
    cached_tokens: bill?.usage.cachedInput ?? 0,
    cache_write_tokens: bill?.usage.cacheWrite ?? 0,
    cache_write_1h_tokens: bill?.usage.cacheWrite1h ?? 0,
    completion_tokens: bill?.usage.output ?? 0,
    reasoning_tokens: bill?.usage.reasoning ?? 0,
    usage_source: bill?.cause === 'provider' ? 'provider' : 'estimate',
    cost_nanos: bill?.charge ?? 0n,
    upstream_cost_nanos: outcome.upstreamCost === null ? null : BigInt(outcome.upstreamCost),
    first_token_ms: outcome.firstTokenMs,
    duration_ms: outcome.durationMs,
    attempts:
      bill && bill.overrun > 0n && outcome.attempts !== '[]' ? withClamp(outcome.attempts) : outcome.attempts,
    error_code: outcome.errorCode,
    fault: outcome.fault ?? null,
    fault_upstream: outcome.faultUpstream ?? null,
    hold_nanos: identity.amount,
    factor_ppm: identity.factorPpm ?? null,
    balance_nanos: bill?.balance ?? null,
    price_version: 'price' in identity ? identity.price.version : identity.priceVersion,
    count: identity.count ?? 1,
    model_served: outcome.modelServed ?? null,
    provider_response_id: outcome.providerResponseId ?? null,
    fingerprint: outcome.fingerprint ?? null,
    operation: outcome.operation ?? null,
    service_tier: bill?.usage.tier ?? null,
    units: bill ? unitsJson(bill.usage) : null,
  }
}

/**
 * The outcome of a request whose worker has exited. A mark means that it was a stream that had started. `upstream`: the
 * only one that can have served it, if known.
 */
export function expiredOutcome(held: Hold, at: number, upstream: string | null = null): RequestOutcome {
  const hasStarted = held.mark !== null
  const durationMs = Math.max(0, at - held.at)
  const attempt = { upstream, outcome: 'aborted', http_status: 200, duration_ms: durationMs, cost: null }
  return {
    httpStatus: hasStarted ? 200 : 500,
    outcome: hasStarted ? 'ended' : 'failed',
    upstream: hasStarted ? upstream : null,
    finish: null,
    errorCode: hasStarted ? 'service_unavailable' : 'server_error',
    firstTokenMs: null,
    durationMs,
    attempts: hasStarted && upstream !== null ? JSON.stringify([attempt]) : '[]',
    upstreamCost: null,
    isClamped: false,
    stream: hasStarted,
    model: held.model,
  }
}
