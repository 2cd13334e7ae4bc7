/** Serves the price list to everybody: what listed models cost now, without the factors of tiers and accounts. */
import type { PricedModel } from '../../catalog/catalog.ts'
import { pricesJson, toDecimalPrices } from '../../catalog/price-input.ts'
import type { AppContext } from '../app-context.ts'
import { encodeModel } from '../openai/models.ts'
import { pageHeaders } from '../public-pages/frame.ts'
import type { PricingPath } from '../public-pages/paths.ts'
import { publicData, servePublicPage } from '../public-pages/serve.ts'
import { publicUrlOf } from '../public-urls.ts'
import { RenderedDocuments } from '../rendered-documents.ts'
import { pricingStyle, renderPricingPage } from './page.ts'

/** As `GET /v1/models` lists models, with all of their prices. */
function pricingJson(models: readonly PricedModel[], currency: string): object {
  const data = models.map((model) => {
    const { pricing, ...fields } = encodeModel(model, currency)
    return { ...fields, pricing: { ...pricing, ...pricesJson(toDecimalPrices(model.price)) } }
  })
  return { object: 'list', data }
}

export function createPricingHandler({ catalog, branding, config, currency }: AppContext) {
  const documents = new RenderedDocuments()
  const origin = publicUrlOf(config)
  let snapshot = { models: catalog.listed(), version: branding.version }
  /** A new object whenever a page would look different: the catalog makes a new list when it changes. */
  const currentSnapshot = (): typeof snapshot => {
    const [models, { version }] = [catalog.listed(), branding]
    if (snapshot.models !== models || snapshot.version !== version) snapshot = { models, version }
    return snapshot
  }
  return (request: Request, path: PricingPath): Promise<Response> =>
    servePublicPage(request, path, ({ language }) => {
      const current = currentSnapshot()
      const { models } = current
      if (path === '/pricing.json') {
        const document = documents.get(current, path, () => JSON.stringify(pricingJson(models, currency)))
        return { document, headers: { 'content-type': 'application/json; charset=utf-8', ...publicData } }
      }
      const document = documents.get(current, `${path} ${language}`, () =>
        renderPricingPage({ models, language, branding: branding.current, currency, origin }),
      )
      return { document, headers: pageHeaders(language, pricingStyle) }
    })
}
