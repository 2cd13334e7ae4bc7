/** All pages that everybody may read without signing in. */
import type { AppContext } from '../app-context.ts'
import { createPricingHandler } from '../pricing/handler.ts'
import { createStatusHandler } from '../status/handler.ts'
import { createBrandingHandler } from './branding.ts'
import { publicPathOf } from './paths.ts'

/** Returns the response to a request for a public page; undefined for other paths and for pages that are off. */
export function createPublicPages(ctx: AppContext) {
  const serveStatus = createStatusHandler(ctx)
  const servePricing = createPricingHandler(ctx)
  const { serveAsset, serveLegalText } = createBrandingHandler(ctx)
  return (request: Request, pathname: string): Promise<Response> | undefined => {
    const path = publicPathOf(pathname, ctx.config)
    switch (path) {
      case undefined:
        return undefined
      case '/status':
      case '/status.json':
      case '/status.rss':
        return serveStatus(request, path)
      case '/pricing':
      case '/pricing.json':
        return servePricing(request, path)
      case '/terms':
      case '/privacy':
        return serveLegalText(request, path)
      default:
        return serveAsset(request, path)
    }
  }
}
