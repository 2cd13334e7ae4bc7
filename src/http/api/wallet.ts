/** An account's money, as both APIs show it. */
import { z } from 'zod'
import type { Account } from '../../accounts/accounts.ts'
import { receivableOf } from '../../payments/payment-refunds.ts'
import type { AppContext } from '../app-context.ts'
import { caps, money } from './json-schemas.ts'
import { jsonFields } from './json-fields.ts'

export const wallet = z.object({
  currency: z.string(),
  balance: money,
  held: money,
  available: money,
  spent_today: money,
  spent_month: money,
  caps,
  receivable: money.meta({
    description: 'What disputes of payments took beyond the balance: the account owes it.',
  }),
})

export async function readWallet(account: Account, ctx: AppContext): Promise<z.infer<typeof wallet>> {
  const { balance, held, available, spentToday, spentMonth } = await ctx.wallet(account.id, null)
  const receivableNanos = await receivableOf(ctx.db, account.id)
  return jsonFields({
    currency: ctx.currency,
    balanceNanos: balance,
    heldNanos: held,
    availableNanos: available,
    spentTodayNanos: spentToday,
    spentMonthNanos: spentMonth,
    caps: account.caps,
    receivableNanos,
  })
}
