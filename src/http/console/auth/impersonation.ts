/** Impersonation: an operator views the console as a customer. It is audited and shown on every page. */
import { notFound } from '../../../errors.ts'
import { impersonate, userBySessionToken } from '../../../users/sessions.ts'
import { impersonationContract } from '../contract/auth.ts'
import { readSessionToken } from './session-cookie.ts'
import { serializeSession } from './serialize-session.ts'
import { endpoint, type Endpoint, type ConsoleContext } from '../context.ts'

async function serializeCurrentSession({ deps, c }: ConsoleContext) {
  const { config, db } = deps.ctx
  const token = readSessionToken(config, c.req.header('cookie')) ?? ''
  return serializeSession(deps, (await userBySessionToken(db, token)) ?? null)
}

export const impersonationEndpoints: readonly Endpoint[] = [
  endpoint(impersonationContract.start, async (context) => {
    const account = context.ctx.directory.account(context.param('id'))
    if (account === undefined) throw notFound('Account')
    await impersonate(context.ctx.db, context.authenticated, account.id)
    return serializeCurrentSession(context)
  }),
  endpoint(impersonationContract.stop, async (context) => {
    await impersonate(context.ctx.db, context.authenticated, null)
    return serializeCurrentSession(context)
  }),
]
