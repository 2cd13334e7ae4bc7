/**
 * The console's interface under /api/console: calls of the contract, bound to what carries them out. Each call says who
 * may make it, and a session is looked at for every one; what is not on the list does not exist.
 */
import { Hono } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { refuse, type Refusal } from '../../errors.ts'
import { newId } from '../../lib/ids.ts'
import { refusalOfThrown } from '../admin/problems.ts'
import { boundedBody } from '../bounded-body.ts'
import { customerCalls } from './account.ts'
import { actingCalls } from './acting.ts'
import { moneyCalls } from './billing.ts'
import { csvRoutes } from './usage/csv-export.ts'
import { ownKeyCalls } from './keys.ts'
import { newPasswordCalls } from './new-password.ts'
import { overviewCalls } from './usage/overview.ts'
import { meCalls } from './person.ts'
import { requestCalls } from './requests.ts'
import { signInCalls } from './sign-in.ts'
import { signUpCalls } from './sign-up.ts'
import { reportCalls } from './usage.ts'
import { route, type Bound, type ConsoleApp, type ConsoleContext, type ConsoleDesk } from './visit.ts'

export const consolePath = '/api/console'

/** Every call that there is. */
export const boundCalls: readonly Bound[] = [
  ...signInCalls,
  ...signUpCalls,
  ...newPasswordCalls,
  ...meCalls,
  ...overviewCalls,
  ...ownKeyCalls,
  ...reportCalls,
  ...requestCalls,
  ...moneyCalls,
  ...customerCalls,
  ...actingCalls,
]

function answerTo(context: ConsoleContext, refusal: Refusal): Response {
  const { retryAfterMs } = refusal.detail
  if (retryAfterMs !== undefined) context.header('retry-after', String(Math.ceil(retryAfterMs / 1000)))
  return context.json(refusal.toBody(), refusal.status as ContentfulStatusCode)
}

export function createConsoleApp(desk: ConsoleDesk): ConsoleApp {
  const app: ConsoleApp = new Hono<{ Bindings: { peer: string | undefined } }>().basePath(consolePath)
  app.use(async (context, next) => {
    context.header('x-request-id', newId('req'))
    context.header('cache-control', 'no-store')
    context.header('x-content-type-options', 'nosniff')
    context.header('content-security-policy', "default-src 'none'; frame-ancestors 'none'")
    await next()
  })
  app.use(boundedBody)
  csvRoutes(app, desk)
  for (const each of boundCalls) route(app, desk, each)
  app.notFound((context) => answerTo(context, refuse('not_found')))
  app.onError((error, context) => {
    const { refusal, isOurs } = refusalOfThrown(error)
    if (isOurs) desk.onBug(error, context.res.headers.get('x-request-id') ?? '')
    return answerTo(context, refusal)
  })
  return app
}
