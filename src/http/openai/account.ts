/**
 * What a key holder may ask about the own account: the balance, one request, and the two billing calls that clients of
 * other relays make. Bodies only; the door finds the caller and sends them.
 */
import type { Caller } from '../../accounts/directory.ts'
import { refuse } from '../../errors.ts'
import { dateOf, dayEndOf } from '../../ledger/periods.ts'
import { decimalOf } from '../../lib/money.ts'
import { currency, requestById, type RequestRecord } from '../../usage/request-records.ts'
import { usageBetween } from '../../usage/reports.ts'
import type { House } from '../house.ts'

type Body = Readonly<Record<string, unknown>>

function capText(nanos: bigint | null): string | null {
  return nanos === null ? null : decimalOf(nanos)
}

/**
 * `GET /v1/balance`, in decimal strings. `available` is what this key can still spend: the smallest of the balance and
 * every cap of account and key, less what is held.
 */
export async function balanceBody(house: House, caller: Caller): Promise<Body> {
  const wallet = await house.wallet(caller.accountId, caller.keyId)
  const { accountCaps, keyCaps } = caller
  return {
    object: 'balance',
    currency,
    balance: decimalOf(wallet.balance),
    held: decimalOf(wallet.held),
    available: decimalOf(wallet.available),
    spent_today: decimalOf(wallet.spentToday),
    spent_month: decimalOf(wallet.spentMonth),
    caps: { daily: capText(accountCaps.dailyNanos), monthly: capText(accountCaps.monthlyNanos) },
    key_caps: {
      daily: capText(keyCaps.dailyNanos),
      monthly: capText(keyCaps.monthlyNanos),
      total: capText(keyCaps.totalNanos),
    },
  }
}

/** What an operator knows beyond this (upstream, attempts, what they cost) is not a customer's business. */
function customerView(record: RequestRecord): Body {
  const { account: _account, upstream: _upstream, attempts: _attempts, ...shown } = record
  return { object: 'request', ...shown }
}

/** `GET /v1/requests/{request_id}`. Throws 404 for a request that is not there or another account's. */
export async function requestBody(house: House, caller: Caller, requestId: string): Promise<Body> {
  const record = await requestById(house.db, requestId)
  if (record?.account === caller.accountId) return customerView(record)
  throw refuse('not_found', { message: 'There is no such request.' })
}

/** An amount as the JSON number that clients of this call expect. */
function numberOf(nanos: bigint): number {
  return Number(decimalOf(nanos))
}

/**
 * `GET /v1/dashboard/billing/subscription`, as one-api answers it: `hard_limit_usd` is all that the account could
 * ever spend, so that clients find what is left by taking away the usage. The amounts are in the platform's currency,
 * whatever the fields are called.
 */
export async function subscriptionBody(house: House, caller: Caller): Promise<Body> {
  const [wallet, spent] = await Promise.all([
    house.wallet(caller.accountId, caller.keyId),
    usageBetween(house.db, caller.accountId),
  ])
  const limit = numberOf(wallet.balance + spent.costNanos)
  return {
    object: 'billing_subscription',
    has_payment_method: true,
    soft_limit_usd: limit,
    hard_limit_usd: limit,
    system_hard_limit_usd: limit,
    access_until: caller.expiresAt === null ? 0 : Math.floor(caller.expiresAt / 1000),
  }
}

const dateMs = 86_400_000

/** When a local date begins, in milliseconds since the epoch. Throws 400 naming the field. */
function startOf(date: string, timezone: string, param: string): number {
  const midnight = /^\d{4}-\d{2}-\d{2}$/.test(date) ? Date.parse(date) : NaN
  if (Number.isNaN(midnight)) {
    throw refuse('invalid_request', { param, message: `${param} has to be a date such as 2026-11-21.` })
  }
  // No zone is a day and a half ahead, so this lies before the date; from there, day by day.
  let at = midnight - 1.5 * dateMs
  while (dateOf(timezone, at) < date) at = dayEndOf(timezone, at)
  return at
}

/**
 * `GET /v1/dashboard/billing/usage?start_date=&end_date=`, as one-api and OpenAI answer it: `total_usage` in
 * hundredths, the end date not included, days of the account's time zone; without dates, everything.
 */
export async function billingUsageBody(house: House, caller: Caller, query: URLSearchParams): Promise<Body> {
  const bound = (param: string): number | undefined => {
    const date = query.get(param) ?? ''
    return date === '' ? undefined : startOf(date, caller.timezone, param)
  }
  const span = { from: bound('start_date'), to: bound('end_date') }
  const { costNanos } = await usageBetween(house.db, caller.accountId, span.from, span.to)
  return { object: 'list', total_usage: numberOf(costNanos * 100n) }
}
