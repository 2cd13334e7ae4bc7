/** `/reference-models`: models and prices as a starting point for a catalog. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { referenceModels } from '../../../catalog/reference-models.ts'
import { listResponse, serializePriceInput, pricesSchema } from '../schemas.ts'
import { optionalPageFields, paginate } from '../../api/pagination.ts'

export const referenceModelSchema = z
  .object({
    id: z.string(),
    context_tokens: z.int(),
    max_output_tokens: z.int().nullable(),
    hidden_reasoning: z.boolean(),
    owned_by: z.string(),
    prices: pricesSchema,
    price_source: z.enum(['list', 'reference']).meta({
      description: 'Where the price comes from: the published price list, or estimated in proportion to it.',
    }),
  })
  .openapi('ReferenceModel')

const list = createRoute({
  method: 'get',
  path: '/reference-models',
  summary: 'List reference models with prices; this creates no models',
  request: { query: z.strictObject(optionalPageFields) },
  responses: listResponse(referenceModelSchema, 'All reference models.'),
})

export function referenceModelRoutes(): OpenAPIHono {
  const app = new OpenAPIHono()
  app.openapi(list, (c) => {
    const data = referenceModels.map((model) => ({
      id: model.id,
      context_tokens: model.contextTokens,
      max_output_tokens: model.maxOutputTokens ?? null,
      hidden_reasoning: model.hiddenReasoning ?? false,
      owned_by: model.ownedBy ?? '',
      prices: model.prices === undefined ? {} : serializePriceInput(model.prices),
      price_source: model.priceSource,
    }))
    return c.json(
      paginate(data, c.req.valid('query'), ({ id }) => id),
      200,
    )
  })
  return app
}
