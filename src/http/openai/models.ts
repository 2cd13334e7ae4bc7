/** `GET /v1/models` and `/v1/models/{id}` in OpenAI's format: the models that a key may use. */
import { allowsModel } from '../../accounts/allowlists.ts'
import type { Caller } from '../../accounts/directory.ts'
import type { PricedModel } from '../../catalog/catalog.ts'
import { formatPrice } from '../../lib/money.ts'
import type { AppContext } from '../app-context.ts'
import { requireModel } from './chat-completions.ts'

/** A model as OpenAI lists it, with its current price per 1,000 tokens and its token limits. */
export function encodeModel(model: PricedModel, currency: string) {
  const { price } = model
  return {
    id: model.id,
    object: 'model',
    created: Math.floor(model.createdAt / 1000),
    owned_by: model.ownedBy,
    context_length: model.contextTokens,
    max_output_tokens: model.maxOutputTokens,
    operations: model.operations,
    pricing: {
      currency,
      unit: '1K tokens',
      input: formatPrice(price.input),
      output: formatPrice(price.output),
    },
  }
}

type ModelContext = Pick<AppContext, 'catalog' | 'currency'>

export function modelListBody({ catalog, currency }: ModelContext, caller: Caller): Record<string, unknown> {
  const models = catalog.listed().filter((model) => allowsModel(caller.models, model.id))
  return { object: 'list', data: models.map((model) => encodeModel(model, currency)) }
}

/** Throws 404 for a model that is not served, 403 for one that this key may not use. */
export function modelBody(
  { catalog, currency }: ModelContext,
  caller: Caller,
  name: string,
): Record<string, unknown> {
  return encodeModel(requireModel(catalog, caller, name), currency)
}
