/** `/reference-models`: models and prices to start from, for who offers them after a look. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { referenceModels } from '../../../catalog/reference-models.ts'
import { listAnswer, priceInputView, pricesOut } from '../schemas.ts'
import { shortListFields, shownOf } from '../short-lists.ts'

export const referenceModelOut = z
  .object({
    id: z.string(),
    context_tokens: z.int(),
    max_output_tokens: z.int().nullable(),
    hidden_reasoning: z.boolean(),
    owned_by: z.string(),
    prices: pricesOut,
    price_source: z.enum(['list', 'reference']).meta({
      description: 'Where the price is from: the published price list, or set in its proportions.',
    }),
  })
  .openapi('ReferenceModel')

const list = createRoute({
  method: 'get',
  path: '/reference-models',
  summary: 'List reference models and prices; nothing is offered by it',
  request: { query: z.strictObject(shortListFields) },
  responses: listAnswer(referenceModelOut, 'All of them.'),
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
      prices: model.prices === undefined ? {} : priceInputView(model.prices),
      price_source: model.priceSource,
    }))
    return c.json(
      shownOf(data, c.req.valid('query'), ({ id }) => id),
      200,
    )
  })
  return app
}
