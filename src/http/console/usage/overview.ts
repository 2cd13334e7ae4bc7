/** The first page of a customer: what is there, what was spent against the caps, and how long it lasts. */
import { listKeys } from '../../../accounts/keys.ts'
import type { Account } from '../../../accounts/accounts.ts'
import { dayEndOf, monthEndOf } from '../../../ledger/periods.ts'
import { decimalOf } from '../../../lib/money.ts'
import { isServed } from '../account/models.ts'
import { usageBetween, usageBy, type UsageGroup, type UsageSums } from '../../../usage/reports.ts'
import { currency } from '../../../usage/request-records.ts'
import { timeOf } from '../../admin/schemas.ts'
import { usageCalls } from '../contract/usage.ts'
import { isStale, unusualUse } from '../key-marks.ts'
import { pointsAmong, sumsView, totalOf } from './usage-sums.ts'
import { daysFrom, hourMs, hoursFrom, monthStartOf } from '../../api/time-buckets.ts'
import { bound, type Bound, type Visit } from '../visit.ts'

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
  const dayStarts = daysFrom(timezone, now - 29 * dayMs, now)
  const [dayStart, monthStart] = [dayStarts.at(-1) ?? now, monthStartOf(timezone, now)]
  const first = Math.min(dayStarts[0] ?? now, monthStart)
  const [wallet, hours, keys] = await Promise.all([
    house.wallet(id, null),
    usageBy(db, 'hour', { account: id, from: first, to: now + hourMs }),
    keyCounts(visit, account, now),
  ])
  const since = (start: number): UsageGroup[] => hours.filter(({ name }) => Number(name) >= start)
  // Where a zone's midnight cuts an hour, the rows of that hour are told apart.
  const sumSince = async (start: number): Promise<UsageSums> =>
    start % hourMs === 0 ? totalOf(since(start)) : usageBetween(db, id, start, now + hourMs)
  const [today, month] = await Promise.all([sumSince(dayStart), sumSince(monthStart)])
  const pace = totalOf(since(now - paceDays * dayMs))
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
    hours: pointsAmong(hours, hoursFrom(now - 23 * hourMs, now)),
    days: pointsAmong(hours, dayStarts),
    keys,
    steps: {
      has_balance: wallet.balance > 0n,
      has_key: keys.active > 0,
      has_request: hours.length > 0,
    },
    example_model: house.catalog.listed().find((model) => isServed(model))?.id ?? null,
  }
}

export const overviewCalls: readonly Bound[] = [bound(usageCalls.overview, overview)]
