/**
 * The console API under /api/console: each endpoint declares who may call it, and the session is checked on every
 * request. What is not on the list does not exist.
 */
import { Hono } from 'hono'
import { prepareApi, serveEndpoints } from '../api/serve.ts'
import { strangerAt } from '../body.ts'
import { beginExport } from '../exports.ts'
import { maxBodyBytes, maxStrangerBodyBytes, receiveBody } from '../middleware.ts'
import { authorize, countWrite, isRead } from './auth/authorize.ts'
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
  serveEndpoints(app, endpoints, {
    async open(c, endpoint) {
      const signedIn = await authorize(deps.ctx, endpoint, c.req)
      if (signedIn !== null && !isRead(c.req)) await countWrite(deps.ctx, signedIn)
      return new ConsoleContext(deps, c, signedIn)
    },
    receiveBody(c, { signedIn, address }) {
      const from =
        signedIn === null
          ? { owner: strangerAt(address), maxBytes: maxStrangerBodyBytes }
          : { owner: signedIn.user.accountId ?? signedIn.user.id, maxBytes: maxBodyBytes }
      return receiveBody(c, deps.bodies, from)
    },
    beginExport: ({ ctx, accountId }) => beginExport(ctx, accountId),
    readerOf: ({ account }) => ({ timezone: account.timezone, currency: deps.ctx.currency, forPeople: true }),
    acceptsEmptyBody: true,
  })
  return app
}
