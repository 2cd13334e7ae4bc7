/**
 * The console API under /api/console: each endpoint declares who may call it, and the session is checked on every
 * request. What is not on the list does not exist.
 */
import { Hono } from 'hono'
import { prepareApi, serveEndpoints } from '../api/serve.ts'
import { bodyLimit } from '../middleware.ts'
import { authorize } from './auth/authorize.ts'
import { endpoints } from './endpoints.ts'
import { ConsoleContext, type ConsoleApp, type ConsoleDeps } from './context.ts'

export const consolePath = '/api/console'

export function createConsoleApp(deps: ConsoleDeps): ConsoleApp {
  const app: ConsoleApp = new Hono<{ Bindings: { peer: string | undefined } }>().basePath(consolePath)
  prepareApi(app, deps.onInternalError)
  app.use(async (c, next) => {
    c.header('x-content-type-options', 'nosniff')
    c.header('content-security-policy', "default-src 'none'; frame-ancestors 'none'")
    await next()
  })
  app.use(bodyLimit)
  serveEndpoints(app, endpoints, {
    open: async (c, endpoint) => new ConsoleContext(deps, c, await authorize(deps.ctx, endpoint, c.req)),
    readerOf: ({ account }) => ({ timezone: account.timezone, currency: deps.ctx.currency, forPeople: true }),
    acceptsEmptyBody: true,
  })
  return app
}
