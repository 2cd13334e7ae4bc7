/**
 * The console API under /api/console: the endpoints of the contract with their handlers. Each endpoint declares who may
 * call it, and the session is checked on every request. What is not on the list does not exist.
 */
import { Hono } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { apiError, type ApiError } from '../../errors.ts'
import { newId } from '../../lib/ids.ts'
import { apiErrorFromThrown } from '../api/thrown-errors.ts'
import { bodyLimit } from '../middleware.ts'
import { accountEndpoints } from './account/account.ts'
import { confirmationEndpoints } from './auth/confirmation.ts'
import { impersonationEndpoints } from './auth/impersonation.ts'
import { billingEndpoints } from './billing/billing.ts'
import { registerCsvExports } from './csv-exports.ts'
import { keyEndpoints } from './account/keys.ts'
import { passwordResetEndpoints } from './auth/password-reset.ts'
import { overviewEndpoints } from './usage/overview.ts'
import { profileEndpoints } from './auth/profile.ts'
import { requestEndpoints } from './usage/requests.ts'
import { signInEndpoints } from './auth/sign-in.ts'
import { signUpEndpoints } from './auth/sign-up.ts'
import { usageEndpoints } from './usage/usage.ts'
import {
  registerEndpoint,
  type Endpoint,
  type ConsoleApp,
  type HonoContext,
  type ConsoleDeps,
} from './context.ts'

export const consolePath = '/api/console'

export const endpoints: readonly Endpoint[] = [
  ...signInEndpoints,
  ...signUpEndpoints,
  ...passwordResetEndpoints,
  ...profileEndpoints,
  ...confirmationEndpoints,
  ...overviewEndpoints,
  ...keyEndpoints,
  ...usageEndpoints,
  ...requestEndpoints,
  ...billingEndpoints,
  ...accountEndpoints,
  ...impersonationEndpoints,
]

function sendError(c: HonoContext, error: ApiError): Response {
  const { retryAfterMs } = error.detail
  if (retryAfterMs !== undefined) c.header('retry-after', String(Math.ceil(retryAfterMs / 1000)))
  return c.json(error.toBody(), error.status as ContentfulStatusCode)
}

export function createConsoleApp(deps: ConsoleDeps): ConsoleApp {
  const app: ConsoleApp = new Hono<{ Bindings: { peer: string | undefined } }>().basePath(consolePath)
  app.use(async (c, next) => {
    c.header('x-request-id', newId('req'))
    c.header('cache-control', 'no-store')
    c.header('x-content-type-options', 'nosniff')
    c.header('content-security-policy', "default-src 'none'; frame-ancestors 'none'")
    await next()
  })
  app.use(bodyLimit)
  registerCsvExports(app, deps, endpoints)
  for (const endpoint of endpoints) registerEndpoint(app, deps, endpoint)
  app.notFound((c) => sendError(c, apiError('not_found')))
  app.onError((thrown, c) => {
    const { error, isBug } = apiErrorFromThrown(thrown)
    if (isBug) deps.onInternalError(thrown, c.res.headers.get('x-request-id') ?? '')
    return sendError(c, error)
  })
  return app
}
