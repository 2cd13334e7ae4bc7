/** `GET /v1/models` and `/v1/models/{id}`: what this key may call. */
import { allowsModel } from '../../accounts/allowlists.ts'
import type { Caller } from '../../accounts/directory.ts'
import type { Catalog, PricedModel } from '../../catalog/catalog.ts'
import { refuse } from '../../errors.ts'
import { pricePer1KOf } from '../../lib/money.ts'
import { servedModel } from '../v1/chat-completions.ts'

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

/** A model as Anthropic's format lists it. */
function messagesModelBody(model: PricedModel): Record<string, unknown> {
  return {
    type: 'model',
    id: model.id,
    display_name: model.id,
    created_at: new Date(model.createdAt).toISOString(),
    max_input_tokens: model.contextTokens,
    max_tokens: model.maxOutputTokens,
  }
}

const usualPage = 20
const largestPage = 1000

/** `limit` of a page, `after_id` or `before_id` as the format has them. Throws 400 naming `limit`. */
export function messagesModelListBody(
  catalog: Catalog,
  caller: Caller,
  query: URLSearchParams,
): Record<string, unknown> {
  const limit = Number(query.get('limit') ?? usualPage)
  if (!Number.isInteger(limit) || limit < 1 || limit > largestPage) {
    throw refuse('invalid_request', {
      param: 'limit',
      message: `limit must be an integer from 1 to ${largestPage}.`,
    })
  }
  const all = catalog.listed().filter((model) => allowsModel(caller.models, model.id))
  const [after, before] = [query.get('after_id'), query.get('before_id')]
  const end = before === null ? all.length : all.findIndex(({ id }) => id === before)
  const begin = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1
  const page =
    before === null ? all.slice(begin, begin + limit) : all.slice(Math.max(0, end - limit), Math.max(0, end))
  const hasMore = before === null ? begin + limit < all.length : end > limit
  const data = page.map(messagesModelBody)
  return { data, has_more: hasMore, first_id: page[0]?.id ?? null, last_id: page.at(-1)?.id ?? null }
}

/** Throws as `oneModelBody`. */
export function oneMessagesModelBody(
  catalog: Catalog,
  caller: Caller,
  name: string,
): Record<string, unknown> {
  return messagesModelBody(servedModel(catalog, caller, name))
}

export function modelListBody(catalog: Catalog, caller: Caller): Record<string, unknown> {
  const models = catalog.listed().filter((model) => allowsModel(caller.models, model.id))
  return { object: 'list', data: models.map(modelBody) }
}

/** Throws 404 for a model that is not served, 403 for one that this key may not call. */
export function oneModelBody(catalog: Catalog, caller: Caller, name: string): Record<string, unknown> {
  return modelBody(servedModel(catalog, caller, name))
}
