/**
 * The response bodies of the endpoints about the caller's own account: its balance, one request, and the two billing
 * endpoints that clients of other relays call.
 */
import type { Caller } from '../../accounts/directory.ts'
import { reportsOfAccount } from '../../db/db.ts'
import { apiError, notFound } from '../../errors.ts'
import { dateOf, dayEndOf } from '../../ledger/periods.ts'
import { formatAmount } from '../../lib/money.ts'
import type { StoredRequest } from '../../usage/request-pages.ts'
import { callersModelServed, findRequest, requestRecord } from '../../usage/request-records.ts'
import { usageBetween } from '../../usage/reports.ts'
import type { AppContext } from '../app-context.ts'

type Body = Readonly<Record<string, unknown>>

function capText(nanos: bigint | null): string | null {
  return nanos === null ? null : formatAmount(nanos)
}

/**
 * `GET /v1/balance`, with amounts as decimal strings. `available` is what this key can still spend: the smallest of the
 * balance and all caps of the account and the key, less what is held.
 */
export async function balanceBody(ctx: AppContext, caller: Caller): Promise<Body> {
  const wallet = await ctx.wallet(caller.accountId, caller.keyId)
  const { accountCaps, keyCaps } = caller
  return {
    object: 'balance',
    currency: ctx.currency,
    balance: formatAmount(wallet.balance),
    held: formatAmount(wallet.held),
    available: formatAmount(wallet.available),
    spent_today: formatAmount(wallet.spentToday),
    spent_month: formatAmount(wallet.spentMonth),
    caps: { daily: capText(accountCaps.dailyNanos), monthly: capText(accountCaps.monthlyNanos) },
    key_caps: {
      daily: capText(keyCaps.dailyNanos),
      monthly: capText(keyCaps.monthlyNanos),
      total: capText(keyCaps.totalNanos),
    },
  }
}

/** Omits what only operators may see: the upstream, its attempts, and its name for a model that the route renames. */
function customerView(row: StoredRequest, currency: string): Body {
  const {
    account: _account,
    upstream: _upstream,
    attempts: _attempts,
    ...shown
  } = requestRecord(row, currency)
  return { object: 'request', ...shown, model_served: callersModelServed(row) }
}

/** `GET /v1/requests/{request_id}`. Throws 404 if the request does not exist or belongs to another account. */
export async function requestBody(ctx: AppContext, caller: Caller, requestId: string): Promise<Body> {
  const row = await findRequest(ctx.db, requestId)
  if (row?.account_id === caller.accountId) return customerView(row, ctx.currency)
  throw notFound('Request')
}

/** An amount as a JSON number, as clients of the billing endpoints expect it. */
function toNumber(nanos: bigint): number {
  return Number(formatAmount(nanos))
}

/**
 * `GET /v1/dashboard/billing/subscription`, as in one-api: `hard_limit_usd` is the balance plus everything spent so
 * far, so that clients find what is left by subtracting the usage. The amounts are in the platform's currency, despite
 * the fields' names.
 */
export async function subscriptionBody(ctx: AppContext, caller: Caller): Promise<Body> {
  const [wallet, spent] = await Promise.all([
    ctx.wallet(caller.accountId, caller.keyId),
    usageBetween(reportsOfAccount(ctx.db, caller.accountId), caller.accountId),
  ])
  const limit = toNumber(wallet.balance + spent.costNanos)
  return {
    object: 'billing_subscription',
    has_payment_method: true,
    soft_limit_usd: limit,
    hard_limit_usd: limit,
    system_hard_limit_usd: limit,
    access_until: caller.expiresAt === null ? 0 : Math.floor(caller.expiresAt / 1000),
  }
}

const dayMs = 86_400_000

/** The start of a local date, in milliseconds since the epoch. Throws 400 with `param`. */
function startOfDate(date: string, timezone: string, param: string): number {
  const midnight = /^\d{4}-\d{2}-\d{2}$/.test(date) ? Date.parse(date) : NaN
  if (Number.isNaN(midnight)) {
    throw apiError('invalid_request', {
      param,
      message: `Invalid \`${param}\`: must be a date such as 2026-11-21.`,
    })
  }
  // No time zone is a day and a half ahead of UTC, so this is before the date; from there, day by day.
  let at = midnight - 1.5 * dayMs
  while (dateOf(timezone, at) < date) at = dayEndOf(timezone, at)
  return at
}

/**
 * `GET /v1/dashboard/billing/usage?start_date=&end_date=`, as in one-api and OpenAI: `total_usage` in hundredths,
 * excluding the end date, with days in the account's time zone; without dates, the total.
 */
export async function billingUsageBody(
  ctx: AppContext,
  caller: Caller,
  query: URLSearchParams,
): Promise<Body> {
  const dateParam = (param: string): number | undefined => {
    const date = query.get(param) ?? ''
    return date === '' ? undefined : startOfDate(date, caller.timezone, param)
  }
  const span = { from: dateParam('start_date'), to: dateParam('end_date') }
  const db = reportsOfAccount(ctx.db, caller.accountId)
  const { costNanos } = await usageBetween(db, caller.accountId, span.from, span.to)
  return { object: 'list', total_usage: toNumber(costNanos * 100n) }
}
