/**
 * The endpoints off the hot path, served by Hono: the console API, the admin API, the OpenAPI document and the public
 * pages. The admin API accepts its key and operators' sessions.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createEmailSender } from '../../lib/email.ts'
import type { ConsoleDeps } from '../console/context.ts'
import { consolePath, createConsoleApp } from '../console/app.ts'
import { checkSameSite, getAuditActor, sessionFromCookie } from '../console/auth/authorize.ts'
import { authenticateByKey, type AdminCaller } from '../admin/admin-context.ts'
import { adminPath, createAdminApp } from '../admin/app.ts'
import { apiError } from '../../errors.ts'
import { apiErrorFromThrown } from '../api/thrown-errors.ts'
import { ApiKeyAuth } from '../api-key-auth.ts'
import { errorResponse, fetchListener } from './fetch-listener.ts'
import type { AppContext } from '../app-context.ts'
import { PaymentWebhooks, webhookMethodOf, type PaymentWebhooksDeps } from '../payment-webhooks.ts'
import { createPublicPages } from '../public-pages/public-pages.ts'

type Listener = (incoming: IncomingMessage, outgoing: ServerResponse) => void

const listeners = new WeakMap<AppContext, Listener>()

/** Who calls the admin API: its key, or the operator whose session the request has. */
function authenticateAdmin(deps: ConsoleDeps): (request: Request) => Promise<AdminCaller> {
  const { config } = deps.ctx
  const byKey = authenticateByKey(config.adminApiKey)
  return async (request) => {
    const { headers, method } = request
    const signedIn = headers.has('authorization')
      ? null
      : await sessionFromCookie(deps.ctx, headers.get('cookie') ?? undefined)
    if (signedIn?.user.role !== 'operator') return byKey(request)
    checkSameSite(config, { method, header: (name) => headers.get(name) ?? undefined })
    const { id, userId } = signedIn.session
    return { by: getAuditActor(signedIn), session: { id, userId } }
  }
}

/** Programs with another base URL, such as `/api/v1`, would otherwise be told that their key is invalid. */
const baseUrlHint = 'Not found. The base URL of this API is that of this server with /v1.'

export interface HonoListenerDeps extends Pick<ConsoleDeps, 'bodies' | 'onInternalError' | 'onSignInFailed'> {
  readonly onWebhookRejected: PaymentWebhooksDeps['onRejected']
}

/** One listener per context. */
export function createHonoListener(
  ctx: AppContext,
  { bodies, onInternalError, onSignInFailed, onWebhookRejected }: HonoListenerDeps,
): Listener {
  const cached = listeners.get(ctx)
  if (cached) return cached
  const { config, directory } = ctx
  const mailer = config.smtpUrl === null ? null : createEmailSender(config.smtpUrl, config.mailFrom)
  const apiKeys = new ApiKeyAuth(directory, config.trustProxy)
  const deps: ConsoleDeps = {
    ctx,
    apiKeyAuth: apiKeys,
    bodies,
    emailSender: mailer,
    onInternalError,
    onSignInFailed,
  }
  const admin = createAdminApp(ctx, { authenticate: authenticateAdmin(deps), onInternalError, bodies })
  const console = createConsoleApp(deps)
  const publicPages = createPublicPages(ctx)
  const webhooks = new PaymentWebhooks({ ctx, bodies, onRejected: onWebhookRejected })
  const listener = fetchListener(async (request, peer) => {
    const { pathname } = new URL(request.url)
    if (pathname.startsWith(`${consolePath}/`)) return console.fetch(request, { peer })
    try {
      const webhookMethod = webhookMethodOf(pathname)
      if (webhookMethod !== undefined) {
        const address = apiKeys.clientAddress(peer, request.headers.get('x-forwarded-for') ?? undefined)
        return await webhooks.receive(webhookMethod, request, address)
      }
      const isAdminApi = pathname.startsWith(`${adminPath}/`) || pathname === '/openapi.json'
      if (pathname.startsWith('/api') && !isAdminApi) throw apiError('not_found', { message: baseUrlHint })
      return await (publicPages(request, pathname) ?? admin.fetch(request))
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
