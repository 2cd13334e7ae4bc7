/**
 * The automation contract: administration over HTTP under /api/admin, and the same calls over the control socket.
 * Parse, call a room, announce what changed, answer; the rules are the rooms'. Each resource has its file, this one
 * has the door: who may come in, and what every answer carries.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { OpenAPIHono } from '@hono/zod-openapi'
import type { Context, MiddlewareHandler } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { refuse, type Refusal } from '../../errors.ts'
import { newId } from '../../lib/ids.ts'
import { boundedBody } from '../bounded-body.ts'
import type { House } from '../house.ts'
import { openapiDocument } from '../openapi/document.ts'
import { accountMoneyRoutes } from './money/credits.ts'
import { accountRoutes } from './accounts/accounts.ts'
import { askedRoutes } from './asked.ts'
import { addressRoutes } from './monitoring/public-addresses.ts'
import { availabilityRoutes } from './availability.ts'
import { backupRoutes } from './system/backups.ts'
import { channelRoutes } from './channels.ts'
import { credentialRoutes } from './credentials.ts'
import type { Desk } from './desk.ts'
import { flowRoutes } from './flow.ts'
import { incidentRoutes } from './monitoring/incidents.ts'
import { keyListRoutes } from './accounts/key-list.ts'
import { keyRoutes } from './accounts/keys.ts'
import { ledgerRoutes } from './ledger.ts'
import { nodeRoutes } from './system/nodes.ts'
import { modelRouteRoutes } from './catalog/route-plan.ts'
import { modelRoutes } from './catalog/models.ts'
import { noticeRoutes } from './notifications/notifications.ts'
import { refusalOfThrown, refusalOfZod } from './problems.ts'
import { priceListRoutes } from './catalog/price-lists.ts'
import { promotionRoutes } from './money/promotions.ts'
import { providerRoutes } from './catalog/providers.ts'
import { refundRoutes } from './money/refunds.ts'
import { officeRoutes } from './system/search.ts'
import { peopleRoutes } from './people.ts'
import { reportRoutes } from './monitoring/dashboard.ts'
import { referenceModelRoutes } from './catalog/reference-models.ts'
import { requestExportRoutes } from './traffic/request-export.ts'
import { requestRoutes } from './traffic/requests.ts'
import { tierRoutes } from './accounts/tiers.ts'
import { upstreamCallRoutes } from './catalog/upstream-checks.ts'
import { upstreamHealthRoutes } from './upstream-health.ts'
import { upstreamRoutes } from './catalog/upstreams.ts'
import { usageRoutes } from './traffic/usage.ts'
import { voucherRoutes } from './money/vouchers.ts'

export const adminPath = '/api/admin'

export interface AdminOptions {
  /** True over HTTP: ADMIN_API_KEY is asked for. False where whoever asks is known: the control socket, a session. */
  readonly authenticate: boolean
  /** In whose name it acts, as the audit log names it; default: by the way that one came in. */
  readonly by?: string
  /** Told about errors that are bugs of ours; the caller sees nothing of them. */
  readonly onBug?: (error: unknown, requestId: string) => void
}

/** A model's id may have slashes, and scripts write them as they are: for the router they are one segment. */
function pathOf(request: Request): string {
  const path = new URL(request.url).pathname
  const match = /^(\/api\/admin\/models\/)(.+?)(\/prices|\/route)?$/.exec(path)
  return match === null ? path : `${match[1]}${match[2]?.replaceAll('/', '%2F')}${match[3] ?? ''}`
}

function answerTo(c: Context, refusal: Refusal): Response {
  if (refusal.status === 401) c.header('www-authenticate', 'Bearer')
  const { retryAfterMs } = refusal.detail
  if (retryAfterMs !== undefined) c.header('retry-after', String(Math.ceil(retryAfterMs / 1000)))
  return c.json(refusal.toBody(), refusal.status as ContentfulStatusCode)
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** Lets in who knows the key. Digests are compared, in constant time: neither content nor length is to be learnt. */
function guard(adminApiKey: string | null): MiddlewareHandler {
  const expected = adminApiKey === null || adminApiKey === '' ? null : digestOf(adminApiKey)
  return async (c, next) => {
    if (expected === null) throw refuse('not_found')
    const given = /^Bearer +(\S.*?) *$/i.exec(c.req.header('authorization') ?? '')?.[1] ?? ''
    if (!timingSafeEqual(digestOf(given), expected)) throw refuse('invalid_api_key')
    await next()
  }
}

/** The methods that a path has, in place of a bare "not found". */
function methodsOf(app: OpenAPIHono): (path: string) => string[] {
  const routes = app.openAPIRegistry.definitions.flatMap((definition) => {
    if (definition.type !== 'route') return []
    const { method, path } = definition.route
    return [
      { method: method.toUpperCase(), pattern: new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`) },
    ]
  })
  return (path) => routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)
}

/** Every call of the contract as one application, with the interface's document, which anyone may read. */
export function createAdminApp(house: House, options: AdminOptions): OpenAPIHono {
  const desk: Desk = { house, by: options.by ?? (options.authenticate ? 'admin-api' : 'command-line') }
  const app = new OpenAPIHono({
    getPath: pathOf,
    defaultHook: (result) => {
      if (!result.success) throw refusalOfZod(result.error)
    },
  })
  app.use(async (c, next) => {
    c.header('x-request-id', newId('req'))
    c.header('cache-control', 'no-store')
    await next()
  })
  let document: object | undefined
  app.get('/openapi.json', (c) => c.json((document ??= openapiDocument(app, house.version))))
  if (options.authenticate) app.use(guard(house.config.adminApiKey))
  app.use(boundedBody)
  for (const routes of [
    providerRoutes,
    priceListRoutes,
    referenceModelRoutes,
    upstreamHealthRoutes,
    upstreamRoutes,
    upstreamCallRoutes,
    credentialRoutes,
    modelRouteRoutes,
    modelRoutes,
    tierRoutes,
    accountRoutes,
    accountMoneyRoutes,
    keyRoutes,
    keyListRoutes,
    voucherRoutes,
    promotionRoutes,
    requestRoutes,
    requestExportRoutes,
    refundRoutes,
    usageRoutes,
    ledgerRoutes,
    nodeRoutes,
    peopleRoutes,
    reportRoutes,
    officeRoutes,
    askedRoutes,
    noticeRoutes,
    addressRoutes,
    availabilityRoutes,
    incidentRoutes,
    channelRoutes,
    backupRoutes,
    flowRoutes,
  ]) {
    app.route(adminPath, routes(desk))
  }
  const methodsFor = methodsOf(app)
  app.notFound((c) => {
    const methods = methodsFor(pathOf(c.req.raw))
    if (methods.length === 0) return answerTo(c, refuse('not_found'))
    c.header('allow', methods.join(', '))
    return answerTo(c, refuse('method_not_allowed'))
  })
  app.onError((error, c) => {
    const { refusal, isOurs } = refusalOfThrown(error)
    if (isOurs) options.onBug?.(error, c.res.headers.get('x-request-id') ?? '')
    return answerTo(c, refusal)
  })
  return app
}
