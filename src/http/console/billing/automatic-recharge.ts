/** An account’s own automatic recharge. Only its person consents: an operator who impersonates the account changes nothing. */
import { z } from 'zod'
import { consentVersion } from '../../../payments/automatic-recharges.ts'
import { automaticRechargeSchema, readAutomaticRecharge } from '../../api/automatic-recharges.ts'
import { money } from '../../api/json-schemas.ts'
import { customer, type ConsoleContext } from '../context.ts'

const ownSchema = automaticRechargeSchema.extend({
  /** The version of the text to which a person consents now. */
  consent_version: z.literal(consentVersion),
})
export type OwnAutomaticRecharge = z.infer<typeof ownSchema>

async function ownJson({ ctx, account }: ConsoleContext): Promise<OwnAutomaticRecharge> {
  return { ...(await readAutomaticRecharge(ctx, account)), consent_version: consentVersion }
}

export const automaticRechargeEndpoints = {
  automaticRecharge: customer.get('/auto-recharge', { response: ownSchema, handle: ownJson }),
  putAutomaticRecharge: customer.put('/auto-recharge', {
    body: z.strictObject({
      /** In the platform's currency. */
      threshold: money,
      /** In the currency of the method, as is the limit. */
      amount: money,
      monthly_limit: money,
      /** The version of the text that the person has read. */
      consent_version: z.string().max(40),
    }),
    response: ownSchema,
    async handle(context) {
      const { ctx, accountId: account, by, body } = context
      const { threshold, amount, monthly_limit: monthlyLimit, consent_version: version } = body
      const input = { account, threshold, amount, monthlyLimit, consentVersion: version, by }
      await ctx.automaticRecharges.consent(input)
      return ownJson(context)
    },
  }),
  deleteAutomaticRecharge: customer.remove('/auto-recharge', {
    response: ownSchema,
    async handle(context) {
      await context.ctx.automaticRecharges.switchOff(context.accountId, context.by)
      return ownJson(context)
    },
  }),
  deleteSavedCard: customer.remove('/auto-recharge/card', {
    response: ownSchema,
    async handle(context) {
      await context.ctx.automaticRecharges.removeCard(context.accountId, context.by)
      return ownJson(context)
    },
  }),
}
