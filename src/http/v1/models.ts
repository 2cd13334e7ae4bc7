/** `GET /v1/models` and `/v1/models/{id}`: what this key may call. */
import { allowsModel } from '../../accounts/allowlists.ts'
import type { Caller } from '../../accounts/directory.ts'
import type { Catalog, PricedModel } from '../../catalog/catalog.ts'
import { pricePer1KOf } from '../../lib/money.ts'
import { servedModel } from './chat-completions.ts'

/** A model as the format lists it, with the live price per 1,000 tokens and the lengths beside. */
function modelBody(model: PricedModel): Record<string, unknown> {
  const { price } = model
  return {
    id: model.id,
    object: 'model',
    created: Math.floor(model.createdAt / 1000),
    owned_by: model.ownedBy,
    context_length: model.contextTokens,
    max_output_tokens: model.maxOutputTokens,
    pricing: {
      currency: 'CNY',
      unit: '1K tokens',
      input: pricePer1KOf(price.input),
      output: pricePer1KOf(price.output),
    },
  }
}

export function modelListBody(catalog: Catalog, caller: Caller): Record<string, unknown> {
  const models = catalog.listed().filter((model) => allowsModel(caller.models, model.id))
  return { object: 'list', data: models.map(modelBody) }
}

/** Throws 404 for a model that is not served, 403 for one that this key may not call. */
export function oneModelBody(catalog: Catalog, caller: Caller, name: string): Record<string, unknown> {
  return modelBody(servedModel(catalog, caller, name))
}
