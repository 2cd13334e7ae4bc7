/**
 * The admin API: administration over HTTP under /api/admin, and the same endpoints over the control socket. A handler
 * parses the request, calls a module, publishes its changes and responds; the rules live in the modules. Each resource
 * has its own file. This one authenticates requests and sets what every response has in common.
 */
import { OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { apiError, type ApiError } from '../../errors.ts'
import { newId } from '../../lib/ids.ts'
import { bodyLimit, requireAdminKey } from '../middleware.ts'
import type { AppContext } from '../app-context.ts'
import { openapiDocument } from '../openapi/document.ts'
import { serveEndpoints } from '../api/serve.ts'
import { registerEndpoints } from '../openapi/endpoints.ts'
import { RenderedDocument } from '../rendered-documents.ts'
import { addCsvExports } from './csv-routes.ts'
import { creditRoutes } from './money/credits.ts'
import { accountRoutes } from './accounts/accounts.ts'
import { limitRequestRoutes } from './accounts/limit-requests.ts'
import { publicAddressRoutes } from './monitoring/public-addresses.ts'
import { availabilityRoutes } from './monitoring/availability.ts'
import { backupRoutes } from './system/backups.ts'
import { channelRoutes } from './notifications/channels.ts'
import { credentialRoutes } from './catalog/credentials.ts'
import type { AdminContext } from './admin-context.ts'
import { idempotentPosts } from './idempotent-posts.ts'
import { trafficFlowRoutes } from './traffic/traffic-flow.ts'
import { incidentRoutes } from './monitoring/incidents.ts'
import { keyListRoutes } from './accounts/key-list.ts'
import { keyRoutes } from './accounts/keys.ts'
import { ledgerRoutes } from './money/ledger.ts'
import { nodeRoutes } from './system/nodes.ts'
import { routePlanRoutes } from './catalog/route-plan.ts'
import { modelRoutes } from './catalog/models.ts'
import { notificationRoutes } from './notifications/notifications.ts'
import { apiErrorFromThrown, apiErrorFromZod } from '../api/thrown-errors.ts'
import { requireValidText } from '../api/text-input.ts'
import { priceListRoutes } from './catalog/price-lists.ts'
import { promotionRoutes } from './money/promotions.ts'
import { providerRoutes } from './catalog/providers.ts'
import { refundRoutes } from './money/refunds.ts'
import { settingsRoutes } from './system/settings.ts'
import { auditRoutes } from './system/audit.ts'
import { announcementEndpoints } from './notifications/announcements.ts'
import { failureRoutes } from './traffic/failures.ts'
import { searchRoutes } from './system/search.ts'
import { userRoutes } from './accounts/users.ts'
import { dashboardRoutes } from './monitoring/dashboard.ts'
import { referenceModelRoutes } from './catalog/reference-models.ts'
import { requestRoutes } from './traffic/requests.ts'
import { tierEndpoints } from './accounts/tiers.ts'
import { upstreamCheckRoutes } from './catalog/upstream-checks.ts'
import { upstreamHealthRoutes } from './monitoring/upstream-health.ts'
import { upstreamRoutes } from './catalog/upstreams.ts'
import { usageRoutes } from './traffic/usage.ts'
import { voucherRoutes } from './money/vouchers.ts'

export const adminPath = '/api/admin'

export interface AdminOptions {
  /** True over HTTP: ADMIN_API_KEY is required. False if the caller is already known: control socket or session. */
  readonly authenticate: boolean
  /** The operator whose session the requests have, with the actor as the audit log names it. */
  readonly operator?: Pick<AdminContext, 'by' | 'session'>
  /** Receives errors that are our bugs; the caller gets no details of them. */
  readonly onInternalError?: (error: unknown, requestId: string) => void
}

/** Escapes the slashes of a model's id, which scripts send unescaped: for the router the id is one path segment. */
function escapeModelPath(request: Request): string {
  const path = new URL(request.url).pathname
  const match = /^(\/api\/admin\/models\/)(.+?)(\/prices|\/route)?$/.exec(path)
  return match === null ? path : `${match[1]}${match[2]?.replaceAll('/', '%2F')}${match[3] ?? ''}`
}

function sendError(c: Context, error: ApiError): Response {
  if (error.status === 401) c.header('www-authenticate', 'Bearer')
  const { retryAfterMs } = error.detail
  if (retryAfterMs !== undefined) c.header('retry-after', String(Math.ceil(retryAfterMs / 1000)))
  if (error.final) c.header('x-should-retry', 'false')
  return c.json(error.toBody(), error.status as ContentfulStatusCode)
}

/** Finds the methods that a path supports, for a 405 instead of a 404. */
function createMethodLookup(app: OpenAPIHono): (path: string) => string[] {
  const routes = app.openAPIRegistry.definitions.flatMap((definition) => {
    if (definition.type !== 'route') return []
    const { method, path } = definition.route
    return [
      { method: method.toUpperCase(), pattern: new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`) },
    ]
  })
  return (path) => routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)
}

/** In matching order: a fixed path comes before one with a parameter. */
const routeGroups: readonly ((admin: AdminContext) => OpenAPIHono)[] = [
  providerRoutes,
  priceListRoutes,
  referenceModelRoutes,
  upstreamHealthRoutes,
  upstreamRoutes,
  upstreamCheckRoutes,
  credentialRoutes,
  routePlanRoutes,
  modelRoutes,
  accountRoutes,
  creditRoutes,
  keyRoutes,
  keyListRoutes,
  voucherRoutes,
  promotionRoutes,
  requestRoutes,
  refundRoutes,
  usageRoutes,
  ledgerRoutes,
  auditRoutes,
  nodeRoutes,
  userRoutes,
  dashboardRoutes,
  failureRoutes,
  searchRoutes,
  settingsRoutes,
  limitRequestRoutes,
  notificationRoutes,
  publicAddressRoutes,
  availabilityRoutes,
  incidentRoutes,
  channelRoutes,
  backupRoutes,
  trafficFlowRoutes,
]

const endpoints = [...tierEndpoints, ...announcementEndpoints]

/** Creates the application with every endpoint of the admin API and the OpenAPI document, which is public. */
export function createAdminApp(ctx: AppContext, options: AdminOptions): OpenAPIHono {
  const { authenticate, onInternalError, operator } = options
  const withoutSession = { by: authenticate ? 'admin-api' : 'command-line', session: null }
  const admin: AdminContext = { ctx, ...(operator ?? withoutSession) }
  const app = new OpenAPIHono({
    getPath: escapeModelPath,
    defaultHook: (result) => {
      if (!result.success) throw apiErrorFromZod(result.error)
      requireValidText(result.data)
    },
  })
  app.use(async (c, next) => {
    c.header('x-request-id', newId('req'))
    c.header('cache-control', 'no-store')
    await next()
  })
  let document: RenderedDocument | undefined
  app.get('/openapi.json', async (c) => {
    document ??= new RenderedDocument(JSON.stringify(openapiDocument(app, ctx.version)))
    const { bytes, headers } = await document.encode(c.req.header('accept-encoding'))
    return c.body(bytes, 200, { 'content-type': 'application/json', vary: 'accept-encoding', ...headers })
  })
  if (authenticate) app.use(requireAdminKey(ctx.config.adminApiKey))
  app.use(bodyLimit)
  app.use(idempotentPosts(admin, (error, requestId) => onInternalError?.(error, requestId)))
  for (const routes of routeGroups) {
    app.route(adminPath, routes(admin))
  }
  serveEndpoints(app.basePath(adminPath), endpoints, {
    open: () => Promise.resolve({ ...admin }),
    readerOf: () => ({ timezone: 'UTC', forPeople: operator !== undefined }),
  })
  registerEndpoints(app.openAPIRegistry, adminPath, endpoints)
  addCsvExports(app, adminPath, operator !== undefined)
  const methodsOf = createMethodLookup(app)
  app.notFound((c) => {
    const methods = methodsOf(escapeModelPath(c.req.raw))
    if (methods.length === 0) return sendError(c, apiError('not_found'))
    c.header('allow', methods.join(', '))
    return sendError(c, apiError('method_not_allowed'))
  })
  app.onError((thrown, c) => {
    const { error, isBug } = apiErrorFromThrown(thrown)
    if (isBug) onInternalError?.(thrown, c.res.headers.get('x-request-id') ?? '')
    return sendError(c, error)
  })
  return app
}
