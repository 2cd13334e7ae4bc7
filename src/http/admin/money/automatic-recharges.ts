/** `/accounts/{id}/auto-recharge`: operators read it and switch it off. Only the account's own person turns it on. */
import { automaticRechargeSchema, readAutomaticRecharge } from '../../api/automatic-recharges.ts'
import { view } from '../../api/define-endpoints.ts'
import type { Account } from '../../../accounts/accounts.ts'
import { requireAccount } from '../accounts/accounts.ts'
import { admin } from '../admin-context.ts'

const automaticRechargeView = view('automatic recharge', automaticRechargeSchema, (account: Account, ctx) =>
  readAutomaticRecharge(ctx, account),
)

export const automaticRechargeEndpoints = [
  admin.get('/accounts/{id}/auto-recharge', {
    summary: 'Get the automatic recharge of an account',
    response: automaticRechargeView,
    handle: ({ ctx, params }) => requireAccount(ctx.db, params.id),
  }),
  admin.remove('/accounts/{id}/auto-recharge', {
    summary: 'Switch the automatic recharge of an account off',
    description: 'Only the account’s own person can turn it on again. A charge in flight is not stopped.',
    response: automaticRechargeView,
    async handle({ ctx, by, params }) {
      const account = await requireAccount(ctx.db, params.id)
      await ctx.automaticRecharges.switchOff(account.id, by)
      return account
    },
  }),
]
