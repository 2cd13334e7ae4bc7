/** The row of a request: what was requested, its outcome and its cost. */
import type { RequestRow } from '../../db/ledger-commit.ts'
import type { SettleCause } from '../../ledger/events.ts'
import type { Usage } from '../../ledger/price.ts'
import type { RequestOutcome } from '../../relay/ledger-client.ts'

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
  /** The account's balance after it. */
  readonly balance: bigint
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
    attempts: outcome.attempts,
    error_code: outcome.errorCode,
    fault: outcome.fault ?? null,
    fault_upstream: outcome.faultUpstream ?? null,
    hold_nanos: identity.amount,
    factor_ppm: identity.factorPpm ?? null,
    balance_nanos: bill?.balance ?? null,
    price_version: 'price' in identity ? identity.price.version : identity.priceVersion,
    count: identity.count ?? 1,
  }
}
