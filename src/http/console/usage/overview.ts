/** The customer's overview: balance, spend against caps, and how long the balance will last. */
import { z } from 'zod'
import { listKeys } from '../../../accounts/keys.ts'
import type { Account } from '../../../accounts/accounts.ts'
import type { PricedModel } from '../../../catalog/catalog.ts'
import { dayEndOf, monthEndOf } from '../../../ledger/periods.ts'
import type { Wallet } from '../../../engine/caller-limits.ts'
import { formatAmount } from '../../../lib/money.ts'
import { wasCapReached } from '../../../notifications/notifications.ts'
import { isServed } from '../account/models.ts'
import { sumAll, usageBetween, usageBy, type UsageGroup, type UsageSums } from '../../../usage/reports.ts'
import { money, sums, time } from '../../api/json-schemas.ts'
import { formatTime } from '../../api/json-values.ts'
import { listOpenIncidents, openIncident, serializeOpenIncident } from '../../api/open-incidents.ts'
import { visibleIncidents } from '../../status/state.ts'
import { isStale, findUnusualUse } from '../account/keys.ts'
import { bucketPoints, pointSchema, serializeSums } from './usage-sums.ts'
import {
  dayStartOf,
  dayStartsBetween,
  hourMs,
  hourStartsBetween,
  monthStartOf,
} from '../../api/time-buckets.ts'
import { last24HoursStart, spanStart } from '../../api/time-spans.ts'
import { customer, type ConsoleContext } from '../context.ts'

/** Spend against a cap. `projected_at` is when it will be reached at the average rate of the last days. */
const capState = z.object({
  cap: money.nullable(),
  spent: money,
  /** 0 to 1, or above 1 if exceeded; null without a cap. */
  share: z.number().nullable(),
  /** Requests are rejected until `resets_at`. */
  reached: z.boolean(),
  resets_at: time,
  projected_at: time.nullable(),
})

const overviewSchema = z.object({
  currency: z.string(),
  balance: money,
  held: money,
  available: money,
  today: sums,
  month: sums,
  caps: z.object({ daily: capState, monthly: capState }),
  /** Open public incidents. */
  incidents: z.array(openIncident),
  /** Whether there is a status page. */
  status_page: z.boolean(),
  /** Days until the balance is used up at the average rate of the last seven days; null: nothing was spent. */
  runway_days: z.number().nullable(),
  /** The spans `24h` by hour and `30d` by day. */
  hours: z.array(pointSchema),
  days: z.array(pointSchema),
  keys: z.object({ active: z.int(), stale: z.int(), unusual: z.int() }),
  /** Progress of the first steps. */
  steps: z.object({ has_balance: z.boolean(), has_key: z.boolean(), has_request: z.boolean() }),
  /** A model that is priced and served, for code examples; null: none. */
  example_model: z.string().nullable(),
})
export type Overview = z.infer<typeof overviewSchema>

const dayMs = 24 * hourMs
/** The days whose average spend the runway and the projections are based on. */
const averageDays = 7

interface CapUsage {
  readonly cap: bigint | null
  readonly spent: bigint
  readonly resetsAt: number
  readonly isReached: boolean
  /** The average spend. */
  readonly nanosPerMs: number
}

function serializeCap({ cap, spent, resetsAt, isReached, nanosPerMs }: CapUsage, now: number) {
  const share = cap === null || cap === 0n ? null : Number(spent) / Number(cap)
  const remainingMs = cap === null || nanosPerMs === 0 ? null : Math.max(0, Number(cap - spent) / nanosPerMs)
  const reachedAt = remainingMs === null ? null : now + remainingMs
  return {
    cap: cap === null ? null : formatAmount(cap),
    spent: formatAmount(spent),
    share: share === null ? null : Math.round(share * 10_000) / 10_000,
    reached: isReached,
    resets_at: formatTime(resetsAt),
    projected_at: reachedAt === null || reachedAt >= resetsAt ? null : formatTime(Math.round(reachedAt)),
  }
}

async function countKeys({ ctx: { db, config } }: ConsoleContext, { id }: Account, now: number) {
  const keys = await listKeys(db, id)
  const unusual = await findUnusualUse(db, keys, now)
  return {
    active: keys.filter(({ status, expiresAt }) => status === 'active' && (expiresAt ?? Infinity) > now)
      .length,
    stale: keys.filter((key) => isStale(key, config.staleKeysMs, now)).length,
    unusual: unusual.size,
  }
}

/**
 * A cap rejects requests that may cost more than what remains of it, so it is seldom spent to the last digit. The ledger
 * says when it is used up, in a notification.
 */
async function isCapReached(
  { ctx: { db }, accountId }: ConsoleContext,
  name: 'daily' | 'monthly',
  { cap, spent, resetsAt }: Pick<CapUsage, 'cap' | 'spent' | 'resetsAt'>,
): Promise<boolean> {
  if (cap === null || spent * 5n < cap * 4n) return false
  return spent >= cap || wasCapReached(db, accountId, { name, end: resetsAt, cap })
}

interface SpendRate {
  readonly nanosPerMs: number
  readonly now: number
}

async function readCaps(context: ConsoleContext, wallet: Wallet, { nanosPerMs, now }: SpendRate) {
  const { timezone, caps } = context.account
  const day = { cap: caps.dailyNanos, spent: wallet.spentToday, resetsAt: dayEndOf(timezone, now) }
  const month = { cap: caps.monthlyNanos, spent: wallet.spentMonth, resetsAt: monthEndOf(timezone, now) }
  const [isDayReached, isMonthReached] = await Promise.all([
    isCapReached(context, 'daily', day),
    isCapReached(context, 'monthly', month),
  ])
  return {
    daily: serializeCap({ ...day, isReached: isDayReached, nanosPerMs }, now),
    monthly: serializeCap({ ...month, isReached: isMonthReached, nanosPerMs }, now),
  }
}

/** Incidents of the models that customers see, or of the whole service. */
async function readIncidents({ ctx }: ConsoleContext) {
  const incidents = await listOpenIncidents(ctx, { isPublic: true })
  const listed = new Set(ctx.catalog.listed().map(({ id }) => id))
  return visibleIncidents(incidents, listed).map(serializeOpenIncident)
}

/** Examples are chats. */
function exampleModel(models: readonly PricedModel[]): string | null {
  return models.find((model) => isServed(model) && model.operations.includes('chat'))?.id ?? null
}

async function readOverview(context: ConsoleContext) {
  const { ctx, account } = context
  const { db } = ctx
  const { id, timezone } = account
  const now = Date.now()
  const firstDay = spanStart('30d', timezone, now)
  const [dayStart, monthStart] = [dayStartOf(timezone, now), monthStartOf(timezone, now)]
  const first = Math.min(firstDay, monthStart)
  const [wallet, hours, keys, incidents] = await Promise.all([
    ctx.wallet(id, null),
    usageBy(db, 'hour', { account: id, from: first, to: now + hourMs }),
    countKeys(context, account, now),
    readIncidents(context),
  ])
  const since = (start: number): UsageGroup[] => hours.filter(({ name }) => Number(name) >= start)
  // If midnight in the time zone splits an hour, the single rows of that hour are summed.
  const sumSince = async (start: number): Promise<UsageSums> =>
    start % hourMs === 0 ? sumAll(since(start)) : usageBetween(db, id, start, now + hourMs)
  const [today, month] = await Promise.all([sumSince(dayStart), sumSince(monthStart)])
  const recent = sumAll(since(now - averageDays * dayMs))
  const nanosPerMs = Number(recent.costNanos) / (averageDays * dayMs)
  const runway = nanosPerMs === 0 ? null : Number(wallet.balance) / nanosPerMs / dayMs
  return {
    currency: ctx.currency,
    balance: formatAmount(wallet.balance),
    held: formatAmount(wallet.held),
    available: formatAmount(wallet.available),
    today: serializeSums(today),
    month: serializeSums(month),
    caps: await readCaps(context, wallet, { nanosPerMs, now }),
    incidents,
    status_page: ctx.config.statusPage,
    runway_days: runway === null ? null : Math.max(0, Math.round(runway * 10) / 10),
    hours: bucketPoints(hours, hourStartsBetween(last24HoursStart(now), now + 1)),
    days: bucketPoints(hours, dayStartsBetween(timezone, firstDay, now + 1)),
    keys,
    steps: {
      has_balance: wallet.balance > 0n,
      has_key: keys.active > 0,
      has_request: hours.length > 0,
    },
    example_model: exampleModel(ctx.catalog.listed()),
  }
}

export const overviewEndpoints = {
  overview: customer.get('/overview', { response: overviewSchema, handle: readOverview }),
}
