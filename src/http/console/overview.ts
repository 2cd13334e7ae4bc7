/** The first page of a customer: what is there, what was spent against the caps, and how long it lasts. */
import { listKeys } from '../../accounts/keys.ts'
import type { Account } from '../../accounts/accounts.ts'
import { dayEndOf, monthEndOf } from '../../ledger/periods.ts'
import { decimalOf } from '../../lib/money.ts'
import { isServed } from './offers.ts'
import { currency } from '../../usage/records.ts'
import { timeOf } from '../admin/schemas.ts'
import { usageCalls } from './contract/usage.ts'
import { isStale, unusualUse } from './key-marks.ts'
import { pointsOf, sumsView, totalOf } from './sums.ts'
import { dayStartOf, hourMs, monthStartOf } from './time-spans.ts'
import { bound, type Bound, type Visit } from './visit.ts'

const dayMs = 24 * hourMs
/** The pace by which the runway and the projection are told. */
const paceDays = 7

interface CapSpan {
  readonly cap: bigint | null
  readonly spent: bigint
  readonly resetsAt: number
  /** Nanos a millisecond. */
  readonly pace: number
}

function capView({ cap, spent, resetsAt, pace }: CapSpan, now: number) {
  const share = cap === null || cap === 0n ? null : Number(spent) / Number(cap)
  const restMs = cap === null || pace === 0 ? null : Math.max(0, Number(cap - spent) / pace)
  const reachedAt = restMs === null ? null : now + restMs
  return {
    cap: cap === null ? null : decimalOf(cap),
    spent: decimalOf(spent),
    share: share === null ? null : Math.round(share * 10_000) / 10_000,
    resets_at: timeOf(resetsAt),
    projected_at: reachedAt === null || reachedAt >= resetsAt ? null : timeOf(Math.round(reachedAt)),
  }
}

async function keyCounts({ house: { db, config } }: Visit, { id }: Account, now: number) {
  const keys = await listKeys(db, id)
  const unusual = await unusualUse(db, keys, now)
  return {
    active: keys.filter(({ status, expiresAt }) => status === 'active' && (expiresAt ?? Infinity) > now)
      .length,
    stale: keys.filter((key) => isStale(key, config.staleKeysMs, now)).length,
    unusual: unusual.size,
  }
}

async function overview(visit: Visit) {
  const { house, account } = visit
  const { db } = house
  const { id, timezone, caps } = account
  const now = Date.now()
  const [dayStart, monthStart] = [dayStartOf(timezone, now), monthStartOf(timezone, now)]
  const [wallet, today, month, pace, hours, days, keys] = await Promise.all([
    house.wallet(id, null),
    totalOf(db, { account: id, from: dayStart, to: now + hourMs }),
    totalOf(db, { account: id, from: monthStart, to: now + hourMs }),
    totalOf(db, { account: id, from: now - paceDays * dayMs, to: now + hourMs }),
    pointsOf(db, { account: id, from: now - 23 * hourMs, to: now }, { by: 'hour' }),
    pointsOf(db, { account: id, from: now - 29 * dayMs, to: now }, { by: 'day', timezone }),
    keyCounts(visit, account, now),
  ])
  const perMs = Number(pace.costNanos) / (paceDays * dayMs)
  const capsView = {
    daily: capView(
      { cap: caps.dailyNanos, spent: wallet.spentToday, resetsAt: dayEndOf(timezone, now), pace: perMs },
      now,
    ),
    monthly: capView(
      { cap: caps.monthlyNanos, spent: wallet.spentMonth, resetsAt: monthEndOf(timezone, now), pace: perMs },
      now,
    ),
  }
  const runway = perMs === 0 ? null : Number(wallet.balance) / perMs / dayMs
  return {
    currency,
    balance: decimalOf(wallet.balance),
    held: decimalOf(wallet.held),
    available: decimalOf(wallet.available),
    today: sumsView(today),
    month: sumsView(month),
    caps: capsView,
    runway_days: runway === null ? null : Math.max(0, Math.round(runway * 10) / 10),
    hours: hours.points,
    days: days.points,
    keys,
    steps: {
      has_balance: wallet.balance > 0n,
      has_key: keys.active > 0,
      has_request: days.total.requests > 0,
    },
    example_model: house.catalog.listed().find((model) => isServed(model))?.id ?? null,
  }
}

export const overviewCalls: readonly Bound[] = [bound(usageCalls.overview, overview)]
