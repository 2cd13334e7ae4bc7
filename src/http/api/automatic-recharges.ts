/** Automatic recharge of an account, in the JSON of the admin API and the console API. */
import { z } from '@hono/zod-openapi'
import type { Account } from '../../accounts/accounts.ts'
import { monthStartOf } from '../../ledger/periods.ts'
import { formatMinor } from '../../lib/currency.ts'
import { automaticRechargeOf, type AutomaticRecharge } from '../../payments/automatic-recharges.ts'
import { orderedSince } from '../../payments/payment-orders.ts'
import type { AppContext } from '../app-context.ts'
import { money, time } from './json-schemas.ts'
import { formatOptionalAmount, formatTime } from './json-values.ts'
import { paymentMethod } from './payment-orders.ts'

export const automaticRechargeSchema = z
  .object({
    state: z.enum(['off', 'on', 'paused']).meta({
      description: '`off` with a `consent`: it goes on as soon as a card is saved.',
    }),
    method: paymentMethod.nullable(),
    currency: z.string().nullable().meta({ description: 'Of the amounts other than the threshold.' }),
    threshold: money.nullable().meta({
      description: 'Recharged when the balance less what is held is below it, in the platform’s currency.',
    }),
    amount: money.nullable().meta({ description: 'What each recharge charges.' }),
    monthly_limit: money.nullable().meta({ description: 'The most in a month of the account’s time zone.' }),
    used_this_month: money.nullable().meta({ description: 'Paid or in flight.' }),
    card: z.object({ last_four: z.string() }).nullable(),
    consent: z
      .object({
        version: z.string().meta({ description: 'Of the text that was shown.' }),
        at: time,
        by: z.string(),
      })
      .nullable(),
    problem: z.string().nullable().meta({
      description:
        'Why the last attempt failed: the provider’s code, such as `insufficient_funds`; `not_completed`, `order_rejected`, `monthly_limit`, `settings_changed`, `restored` or `card_removed`.',
    }),
    failures: z.int().meta({ description: 'Declined attempts in a row; it pauses after the third.' }),
    order: z.string().nullable().meta({ description: 'The order in flight.' }),
    last_attempt_at: time.nullable(),
    next_attempt_at: time.nullable().meta({ description: 'The earliest. null: nothing is waited for.' }),
  })
  .openapi('AutomaticRecharge')
export type AutomaticRechargeJson = z.infer<typeof automaticRechargeSchema>

const never: AutomaticRechargeJson = {
  state: 'off',
  method: null,
  currency: null,
  threshold: null,
  amount: null,
  monthly_limit: null,
  used_this_month: null,
  card: null,
  consent: null,
  problem: null,
  failures: 0,
  order: null,
  last_attempt_at: null,
  next_attempt_at: null,
}

export async function readAutomaticRecharge(
  { db }: Pick<AppContext, 'db'>,
  { id: account, timezone }: Pick<Account, 'id' | 'timezone'>,
): Promise<AutomaticRechargeJson> {
  const recharge = await automaticRechargeOf(db, account)
  if (recharge === undefined) return never
  const { method, currency, cardLastFour } = recharge
  const since = monthStartOf(timezone, Date.now())
  const used = await orderedSince(db, { account, method, since, automaticOnly: true })
  const minor = (amount: bigint | null): string | null =>
    amount === null ? null : formatMinor(amount, currency)
  return {
    state: recharge.state,
    method,
    currency,
    threshold: formatOptionalAmount(recharge.thresholdNanos),
    amount: minor(recharge.amountMinor),
    monthly_limit: minor(recharge.monthlyLimitMinor),
    used_this_month: formatMinor(used, currency),
    card: cardLastFour === null ? null : { last_four: cardLastFour },
    consent: consentOf(recharge),
    problem: recharge.problem,
    failures: recharge.failures,
    order: recharge.orderId,
    last_attempt_at: formatTime(recharge.lastAttemptAt),
    next_attempt_at: formatTime(recharge.nextAttemptAt),
  }
}

function consentOf(recharge: AutomaticRecharge): AutomaticRechargeJson['consent'] {
  const { consentVersion: version, consentedAt: at, consentedBy: by } = recharge
  return version === null || at === null || by === null ? null : { version, at: formatTime(at), by }
}
