/** What an account is notified of when its automatic recharge does not go on by itself. */
import { formatMinor } from '../../lib/currency.ts'
import { insertNotification } from '../../notifications/notifications.ts'
import type { Statement } from '../../db/statement.ts'
import type { AutomaticRecharge } from '../../payments/automatic-recharges.ts'
import type { PaymentDeps } from './payment-deps.ts'

export interface RechargeProblem {
  readonly code:
    | 'recharge_declined'
    | 'recharge_paused'
    | 'recharge_needs_payer'
    | 'recharge_card_removed'
    | 'recharge_limit_reached'
  /** Notified once for each: an order, a month, a card. */
  readonly period: string
  readonly nextAttemptAt?: number | null
  /** Of the account, for times. */
  readonly timezone?: string
}

export function rechargeNotification(
  { publicUrl }: Pick<PaymentDeps, 'publicUrl'>,
  recharge: AutomaticRecharge,
  { code, period, nextAttemptAt = null, timezone = 'UTC' }: RechargeProblem,
): Statement {
  const { accountId, method, currency, cardLastFour } = recharge
  const amount = formatMinor(recharge.amountMinor ?? 0n, currency)
  const limit = formatMinor(recharge.monthlyLimitMinor ?? 0n, currency)
  const query = new URLSearchParams({ method, amount }).toString()
  const params = {
    amount,
    limit,
    currency,
    card: cardLastFour ?? '',
    timezone,
    // An ordinary order: the payer is asked there for whatever the bank wants.
    url: `${publicUrl}/console/billing/recharge?${query}`,
    ...(nextAttemptAt === null ? {} : { next_at: new Date(nextAttemptAt).toISOString() }),
  }
  const severity = code === 'recharge_declined' || code === 'recharge_limit_reached' ? 'warning' : 'critical'
  const subject = 'automatic-recharge'
  return insertNotification({
    audience: accountId,
    kind: 'payment',
    severity,
    subject,
    period: `${code}:${period}`,
    code,
    params,
  })
}
