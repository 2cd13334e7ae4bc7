/** Impersonation: an operator views the console as a customer. It is audited and shown on every page. */
import { notFound } from '../../../errors.ts'
import { impersonate } from '../../../users/sessions.ts'
import { sessionFromCookie } from './authorize.ts'
import { serializeSession, sessionSchema } from './serialize-session.ts'
import { operator, type ConsoleContext } from '../context.ts'

async function impersonateAccount({ deps, ctx, c, authenticated }: ConsoleContext, accountId: string | null) {
  await impersonate(ctx.db, authenticated, accountId)
  return serializeSession(deps, await sessionFromCookie(deps.ctx, c.req.header('cookie')))
}

export const impersonationEndpoints = {
  /** Until `stop` or sign-out, the customer pages are those of this account. Audited. */
  start: operator.post('/operator/accounts/{id}/act', {
    response: sessionSchema,
    handle: (context) => {
      const account = context.ctx.directory.account(context.params.id)
      if (account === undefined) throw notFound('Account')
      return impersonateAccount(context, account.id)
    },
  }),
  stop: operator.post('/operator/act/end', {
    response: sessionSchema,
    endsImpersonation: true,
    handle: (context) => impersonateAccount(context, null),
  }),
}
