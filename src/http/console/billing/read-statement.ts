/**
 * Monthly statements: opening + credits − charges = closing, to the last digit. A charge counts in the month in which its
 * request was admitted, as in caps and usage. So the sums come from the roll-ups, and no page reads a month of entries.
 * None of them is reckoned back from the balance, which requests change while a statement is read.
 */
import { z } from 'zod'
import type { Account } from '../../../accounts/accounts.ts'
import { apiError } from '../../../errors.ts'
import { isPayback } from '../../../ledger/payback-ids.ts'
import { dateOf, monthEndOf } from '../../../ledger/periods.ts'
import { formatAmount } from '../../../lib/money.ts'
import { sumAll, usageBetween, usageBy, usageByDay } from '../../../usage/reports.ts'
import { creditedBefore, creditsBetween, type Credit } from '../../../usage/statement.ts'
import type { AppContext } from '../../app-context.ts'
import { money, sums, time } from '../../api/json-schemas.ts'
import { formatTime } from '../../api/json-values.ts'
import { monthStartOf } from '../../api/time-buckets.ts'
import { serializeSums } from '../usage/usage-sums.ts'

/** `payback`: a refund or a dispute took a payment or its bonus back, or its money came back after all. */
const creditGroups = ['payment', 'bonus', 'payback', 'other'] as const
type CreditGroup = (typeof creditGroups)[number]

export const statementSchema = z.object({
  /** `2026-11`, in the account's time zone. */
  month: z.string(),
  timezone: z.string(),
  from: time,
  to: time,
  /** The month is over and its figures no longer change. */
  final: z.boolean(),
  account: z.object({ id: z.string(), email: z.string(), name: z.string() }),
  currency: z.string(),
  /** opening + credits − charges = closing, to the last digit. */
  opening: money,
  /** payments + bonuses + paybacks + other_credits. */
  credits: money,
  payments: money,
  bonuses: money,
  /** Not positive, unless more came back than was taken in this month. */
  paybacks: money,
  other_credits: money,
  charges: money,
  closing: money,
  /** Every credit of the month, oldest first. */
  credit_lines: z.array(
    z.object({
      time,
      group: z.enum(creditGroups),
      source: z.string().nullable(),
      reason: z.string().nullable(),
      amount: money,
    }),
  ),
  models: z.array(sums.extend({ model: z.string() })),
  days: z.array(sums.extend({ day: z.string() })),
})
export type Statement = z.infer<typeof statementSchema>

/** By then, requests that were open at the end of the month have been settled. */
const finalAfterMs = 24 * 3_600_000

/** The start and end of a month in the account's time zone. Throws 404 for a future month, or one before the account. */
function getMonthRange({ timezone, createdAt }: Account, month: string): readonly [number, number] {
  const middle = /^\d{4}-\d{2}$/.test(month) ? Date.parse(`${month}-15T12:00:00Z`) : NaN
  if (!Number.isNaN(middle)) {
    const [from, to] = [monthStartOf(timezone, middle), monthEndOf(timezone, middle)]
    if (from <= Date.now() && to > createdAt) return [from, to]
  }
  throw apiError('not_found', { message: 'Statement not found for this month.' })
}

function groupOf({ reference, source }: Credit): CreditGroup {
  if (reference !== null && isPayback(reference)) return 'payback'
  return source === 'payment' || source === 'bonus' ? source : 'other'
}

function sumNanos(credits: readonly Credit[]): bigint {
  return credits.reduce((sum, { amountNanos }) => sum + amountNanos, 0n)
}

export async function readStatement(
  ctx: Pick<AppContext, 'db' | 'currency'>,
  account: Account,
  month: string,
): Promise<Statement> {
  const { db } = ctx
  const { id, email, name, timezone } = account
  const [from, to] = getMonthRange(account, month)
  const filter = { account: id, from, to }
  const [creditedEarlier, usedEarlier, credits, models, days] = await Promise.all([
    creditedBefore(db, id, from),
    usageBetween(db, id, undefined, from),
    creditsBetween(db, id, from, to),
    usageBy(db, 'model', filter),
    usageByDay(db, filter, (at) => dateOf(timezone, at)),
  ])
  const opening = creditedEarlier - usedEarlier.costNanos
  const credited = sumNanos(credits)
  const charges = sumAll(days).costNanos
  const sumOf = (group: CreditGroup): string =>
    formatAmount(sumNanos(credits.filter((credit) => groupOf(credit) === group)))
  return {
    month,
    timezone,
    from: formatTime(from),
    to: formatTime(to),
    final: Date.now() > to + finalAfterMs,
    account: { id, email, name },
    currency: ctx.currency,
    opening: formatAmount(opening),
    credits: formatAmount(credited),
    payments: sumOf('payment'),
    bonuses: sumOf('bonus'),
    paybacks: sumOf('payback'),
    other_credits: sumOf('other'),
    charges: formatAmount(charges),
    closing: formatAmount(opening + credited - charges),
    credit_lines: credits.map((credit) => ({
      time: formatTime(credit.at),
      group: groupOf(credit),
      source: credit.source,
      reason: credit.reason,
      amount: formatAmount(credit.amountNanos),
    })),
    models: models.map((group) => ({ model: group.name, ...serializeSums(group) })),
    days: days.map((group) => ({ day: group.name, ...serializeSums(group) })),
  }
}

const lineKinds = ['opening', ...creditGroups, 'charge', 'closing'] as const

/** One line of a statement's export. All but the last make the last. */
export const statementLineSchema = z.object({
  /** In the account's time zone. */
  day: z.string(),
  kind: z.enum(lineKinds),
  description: z.string().nullable(),
  amount: money,
})
export type StatementLine = z.infer<typeof statementLineSchema>

/** In the order of their days; the charges of a day follow its credits. */
export function statementLines(statement: Statement): StatementLine[] {
  const { timezone, from, to } = statement
  const dayOf = (at: string | number): string => dateOf(timezone, new Date(at).getTime())
  const credits = statement.credit_lines.map(({ time, group, source, reason, amount }): StatementLine => ({
    day: dayOf(time),
    kind: group,
    description: reason ?? source,
    amount,
  }))
  const charges = statement.days
    .filter(({ cost }) => cost !== '0')
    .map(({ day, cost }): StatementLine => ({ day, kind: 'charge', description: null, amount: `-${cost}` }))
  const between = [...credits, ...charges].toSorted((one, other) => one.day.localeCompare(other.day))
  return [
    { day: dayOf(from), kind: 'opening', description: null, amount: statement.opening },
    ...between,
    { day: dayOf(Date.parse(to) - 1), kind: 'closing', description: null, amount: statement.closing },
  ]
}
