/** An account's money, as both APIs show it. */
import { z } from 'zod'
import type { Account } from '../../accounts/accounts.ts'
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
})

export async function readWallet(account: Account, ctx: AppContext): Promise<z.infer<typeof wallet>> {
  const { balance, held, available, spentToday, spentMonth } = await ctx.wallet(account.id, null)
  return jsonFields({
    currency: ctx.currency,
    balanceNanos: balance,
    heldNanos: held,
    availableNanos: available,
    spentTodayNanos: spentToday,
    spentMonthNanos: spentMonth,
    caps: account.caps,
  })
}
