/**
 * The admin API: administration over HTTP under /api/admin, and the same endpoints over the control socket. A handler
 * parses the request, calls a module, publishes its changes and responds; the rules live in the modules. Each resource
 * has its own file. This one authenticates requests and sets what every response has in common.
 */
import { Hono } from 'hono'
import { apiError } from '../../errors.ts'
import { prepareApi, sendError, serveEndpoints } from '../api/serve.ts'
import type { AppContext } from '../app-context.ts'
import { maxInvoiceFileBytes } from '../../payments/invoice-file.ts'
import { BodyBudget } from '../body.ts'
import { bodyBytesOfFile, limitBody, maxBodyBytes } from '../middleware.ts'
import { openapiDocument } from '../openapi/document.ts'
import { RenderedDocument } from '../rendered-documents.ts'
import type { AdminCaller, AdminEnv } from './admin-context.ts'
import { adminEndpoints } from './endpoints.ts'
import { idempotentPosts } from './idempotent-posts.ts'

export const adminPath = '/api/admin'

export interface AdminOptions {
  /** Returns who calls. Throws an `ApiError` for requests without access. */
  readonly authenticate: (request: Request) => AdminCaller | Promise<AdminCaller>
  /** Receives errors that are our bugs; the caller gets no details of them. */
  readonly onInternalError?: (error: unknown, requestId: string) => void
  /** The memory for bodies of the worker; absent: an own one, as for commands. */
  readonly bodies?: BodyBudget
}

/** Escapes the slashes of a model's id, which scripts send unescaped: for the router the id is one path segment. */
function escapeModelPath(request: Request): string {
  const path = new URL(request.url).pathname
  const match = /^(\/api\/admin\/models\/)(.+?)(\/prices|\/route)?$/.exec(path)
  return match === null ? path : `${match[1]}${match[2]?.replaceAll('/', '%2F')}${match[3] ?? ''}`
}

const patterns = adminEndpoints.flatMap(({ method, path, csv }) =>
  [path, ...(csv === undefined ? [] : [`${path}.csv`])].map((each) => ({
    method: method.toUpperCase(),
    pattern: new RegExp(`^${adminPath}${each.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`),
  })),
)

/** The only call that carries a file. */
const invoicePath = new RegExp(`^${adminPath}/invoices/[^/]+/issue$`)
const maxInvoiceBodyBytes = bodyBytesOfFile(maxInvoiceFileBytes)
/** Its callers are administrators, who share a part of the memory for bodies. */
const bodyOwner = 'admin'

/** Creates the application with every endpoint of the admin API and the OpenAPI document, which is public. */
export function createAdminApp(
  ctx: AppContext,
  { authenticate, onInternalError, bodies = new BodyBudget(ctx.config) }: AdminOptions,
): Hono<AdminEnv> {
  const app = new Hono<AdminEnv>({ getPath: escapeModelPath })
  prepareApi(app, onInternalError)
  let document: RenderedDocument | undefined
  app.get('/openapi.json', async (c) => {
    document ??= new RenderedDocument(JSON.stringify(openapiDocument(adminPath, adminEndpoints, ctx.version)))
    const { bytes, headers } = await document.encode(c.req.header('accept-encoding'))
    return c.body(bytes, 200, { 'content-type': 'application/json', vary: 'accept-encoding', ...headers })
  })
  app.use(async (c, next) => {
    c.set('caller', await authenticate(c.req.raw))
    await next()
  })
  app.use(
    limitBody(bodies, (c) => ({
      owner: bodyOwner,
      maxBytes: invoicePath.test(c.req.path) ? maxInvoiceBodyBytes : maxBodyBytes,
    })),
  )
  app.use(idempotentPosts(ctx, (error, requestId) => onInternalError?.(error, requestId)))
  serveEndpoints(app.basePath(adminPath), adminEndpoints, {
    open: (c) => Promise.resolve({ ctx, ...c.var.caller }),
    readerOf: ({ session }) => ({ timezone: 'UTC', currency: ctx.currency, forPeople: session !== null }),
  })
  app.notFound((c) => {
    const path = escapeModelPath(c.req.raw)
    const methods = patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)
    if (methods.length === 0) return sendError(c, apiError('not_found'))
    c.header('allow', methods.join(', '))
    return sendError(c, apiError('method_not_allowed'))
  })
  return app
}
