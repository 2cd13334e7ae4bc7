/** `GET /v1/models` and `/v1/models/{id}` in Anthropic's format: the models that a key may use. */
import { allowsModel } from '../../accounts/allowlists.ts'
import type { Caller } from '../../accounts/directory.ts'
import type { Catalog, PricedModel } from '../../catalog/catalog.ts'
import { apiError } from '../../errors.ts'
import { requireModel } from '../openai/chat-completions.ts'

function encodeModel(model: PricedModel): Record<string, unknown> {
  return {
    type: 'model',
    id: model.id,
    display_name: model.id,
    created_at: new Date(model.createdAt).toISOString(),
    max_input_tokens: model.contextTokens,
    max_tokens: model.maxOutputTokens,
    lifecycle: 'active',
    capabilities: null,
    deprecated_at: null,
    retires_at: null,
  }
}

const defaultPageSize = 20
const maxPageSize = 1000

/** A page by `limit`, `after_id` and `before_id`. Throws 400 with `param: 'limit'`. */
export function anthropicModelListBody(
  catalog: Catalog,
  caller: Caller,
  query: URLSearchParams,
): Record<string, unknown> {
  const limit = Number(query.get('limit') ?? defaultPageSize)
  if (!Number.isInteger(limit) || limit < 1 || limit > maxPageSize) {
    throw apiError('invalid_request', {
      param: 'limit',
      message: `Invalid \`limit\`: must be an integer between 1 and ${maxPageSize}.`,
    })
  }
  const all = catalog.listed().filter((model) => allowsModel(caller.models, model.id))
  const [after, before] = [query.get('after_id'), query.get('before_id')]
  const end = before === null ? all.length : all.findIndex(({ id }) => id === before)
  const begin = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1
  const page =
    before === null ? all.slice(begin, begin + limit) : all.slice(Math.max(0, end - limit), Math.max(0, end))
  const hasMore = before === null ? begin + limit < all.length : end > limit
  const data = page.map(encodeModel)
  return { data, has_more: hasMore, first_id: page[0]?.id ?? null, last_id: page.at(-1)?.id ?? null }
}

/** Throws 404 for a model that is not served, 403 for one that this key may not use. */
export function anthropicModelBody(catalog: Catalog, caller: Caller, name: string): Record<string, unknown> {
  return encodeModel(requireModel(catalog, caller, name))
}
