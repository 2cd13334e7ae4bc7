/** Sums of an account's requests by time, model and key, and how long the answers took. */
import { namesOfKeys } from '../../accounts/keys.ts'
import { latencyIn, type Latency } from '../../usage/latency.ts'
import { usageBy } from '../../usage/reports.ts'
import { msOf, openedCursor, sealedCursor } from '../admin/schemas.ts'
import { usageCalls } from './contract/usage.ts'
import { pointsOf, sumsView } from './usage/usage-sums.ts'
import { hourMs } from '../api/time-buckets.ts'
import { bound, type Bound, type Visit } from './visit.ts'
import { refuse } from '../../errors.ts'

const dayMs = 24 * hourMs
const usualSpanMs = { hour: 2 * dayMs, day: 30 * dayMs } as const
/** A chart shows no more points than anybody can tell apart. */
const pointsMost = 1000

/** What was asked for, else the time up to now. */
function spanOf(given: { from?: string | undefined; to?: string | undefined }, usualMs: number) {
  const to = msOf(given.to) ?? Date.now()
  return { from: msOf(given.from) ?? to - usualMs, to }
}

async function series({ house, account, query }: Visit<typeof usageCalls.series>) {
  const { step, key, model } = query
  const span = { account: account.id, key, model, ...spanOf(query, usualSpanMs[step]) }
  if ((span.to - span.from) / (step === 'hour' ? hourMs : dayMs) > pointsMost) {
    throw refuse('invalid_request', { param: 'from', message: `At most ${pointsMost} points can be shown.` })
  }
  const by = step === 'hour' ? { by: step } : { by: step, timezone: account.timezone }
  const { points, total } = await pointsOf(house.db, span, by)
  return { step, data: points, total: sumsView(total) }
}

async function groups({ house, account, query }: Visit<typeof usageCalls.by>) {
  const { group, limit, cursor, key, model } = query
  const { db } = house
  const offset = Number(openedCursor(cursor, /^\d{1,9}$/) ?? 0)
  const filter = { account: account.id, key, model, ...spanOf(query, usualSpanMs.day) }
  const found = await usageBy(db, group, filter, { limit: limit + 1, offset })
  const shown = found.slice(0, limit)
  const names =
    group === 'key'
      ? await namesOfKeys(
          db,
          shown.map(({ name }) => name),
        )
      : new Map<string, string>()
  return {
    data: shown.map((sums) => ({
      id: sums.name,
      name: names.get(sums.name) ?? sums.name,
      ...sumsView(sums),
    })),
    next: sealedCursor(found.length > limit ? String(offset + limit) : null),
  }
}

function latencyView({ requests, firstToken, duration }: Latency) {
  return { requests, first_token_ms: firstToken, duration_ms: duration }
}

async function latency({ house, account, query }: Visit<typeof usageCalls.latency>) {
  const filter = { account: account.id, model: query.model, ...spanOf(query, usualSpanMs.day) }
  const { total, models } = await latencyIn(house.db, filter)
  const named = Array.from(models, ([model, one]) => ({ model, ...latencyView(one) }))
  return {
    total: latencyView(total),
    models: named.toSorted((left, right) => right.requests - left.requests),
  }
}

export const reportCalls: readonly Bound[] = [
  bound(usageCalls.series, series),
  bound(usageCalls.by, groups),
  bound(usageCalls.latency, latency),
]
