/**
 * The endpoints off the hot path, served by Hono: the console API, the admin API, the OpenAPI document and the public
 * status page. The admin API accepts its key and operators' sessions.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { OpenAPIHono } from '@hono/zod-openapi'
import { createEmailSender } from '../../lib/email.ts'
import type { SignedInUser } from '../../users/sessions.ts'
import { getAuditActor, sessionFromCookie, type ConsoleDeps } from '../console/context.ts'
import { consolePath, createConsoleApp } from '../console/app.ts'
import { checkSameSite } from '../console/auth/csrf.ts'
import { adminPath, createAdminApp } from '../admin/app.ts'
import { apiError } from '../../errors.ts'
import { apiErrorFromThrown } from '../api/thrown-errors.ts'
import { ApiKeyAuth } from '../api-key-auth.ts'
import { errorResponse, fetchListener, type FetchHandler } from './fetch-listener.ts'
import type { AppContext } from '../app-context.ts'
import { createStatusHandler } from '../status/handler.ts'
import { statusPathOf } from '../status/paths.ts'

type Listener = (incoming: IncomingMessage, outgoing: ServerResponse) => void

const listeners = new WeakMap<AppContext, Listener>()
/** One application per operator's session is cached. */
const maxOperatorApps = 100

/** Serves the admin API as its key, or as the operator whose session the request has. */
function adminApiHandler(deps: ConsoleDeps): FetchHandler {
  const { ctx, onInternalError } = deps
  const byKey = createAdminApp(ctx, { authenticate: true, onInternalError })
  const byOperator = new Map<string, OpenAPIHono>()
  const appOf = (signedIn: SignedInUser): OpenAPIHono => {
    const by = getAuditActor(signedIn)
    const { id, userId } = signedIn.session
    const name = `${id} ${by}`
    const cached = byOperator.get(name)
    if (cached !== undefined) return cached
    if (byOperator.size >= maxOperatorApps) byOperator.clear()
    const operator = { by, session: { id, userId } }
    const app = createAdminApp(ctx, { authenticate: false, operator, onInternalError })
    byOperator.set(name, app)
    return app
  }
  return async (request) => {
    const { headers, method } = request
    const isAdminApi = new URL(request.url).pathname.startsWith(`${adminPath}/`)
    if (!isAdminApi || headers.has('authorization')) return byKey.fetch(request)
    const signedIn = await sessionFromCookie(deps, headers.get('cookie') ?? undefined)
    if (signedIn?.user.role !== 'operator') return byKey.fetch(request)
    checkSameSite(ctx.config, { method, header: (name) => headers.get(name) ?? undefined })
    return appOf(signedIn).fetch(request)
  }
}

/** Programs with another base URL, such as `/api/v1`, would otherwise be told that their key is invalid. */
const baseUrlHint = 'Not found. The base URL of this API is that of this server with /v1.'

/** One listener per context. */
export function createHonoListener(
  ctx: AppContext,
  { onInternalError, onSignInFailed }: Pick<ConsoleDeps, 'onInternalError' | 'onSignInFailed'>,
): Listener {
  const cached = listeners.get(ctx)
  if (cached) return cached
  const { config, directory } = ctx
  const mailer = config.smtpUrl === null ? null : createEmailSender(config.smtpUrl, config.mailFrom)
  const apiKeys = new ApiKeyAuth(directory, config.trustProxy)
  const deps: ConsoleDeps = {
    ctx,
    apiKeyAuth: apiKeys,
    emailSender: mailer,
    onInternalError,
    onSignInFailed,
  }
  const adminApi = adminApiHandler(deps)
  const console = createConsoleApp(deps)
  const status = createStatusHandler(ctx)
  const listener = fetchListener(async (request, peer) => {
    const { pathname } = new URL(request.url)
    if (pathname.startsWith(`${consolePath}/`)) return console.fetch(request, { peer })
    try {
      const isAdminApi = pathname.startsWith(`${adminPath}/`) || pathname === '/openapi.json'
      if (pathname.startsWith('/api') && !isAdminApi) throw apiError('not_found', { message: baseUrlHint })
      return await (statusPathOf(pathname) === undefined ? adminApi : status)(request, peer)
    } catch (thrown) {
      const { error, isBug } = apiErrorFromThrown(thrown)
      const response = errorResponse(error)
      if (isBug) onInternalError(thrown, response.headers.get('x-request-id') ?? '')
      return response
    }
  })
  listeners.set(ctx, listener)
  return listener
}
