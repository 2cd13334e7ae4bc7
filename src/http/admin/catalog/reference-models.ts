/** `/reference-models`: models and prices as a starting point for a catalog. */
import { z } from '@hono/zod-openapi'
import { view } from '../../api/define-endpoints.ts'
import { admin } from '../admin-context.ts'
import { referenceModelsIn, type ReferenceModel } from '../../../catalog/reference-models.ts'
import { pricesJson } from '../../../catalog/price-input.ts'
import { pricesSchema } from '../schemas.ts'

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

const referenceModelView = view('reference model', referenceModelSchema, (model: ReferenceModel) => ({
  id: model.id,
  context_tokens: model.contextTokens,
  max_output_tokens: model.maxOutputTokens ?? null,
  hidden_reasoning: model.hiddenReasoning ?? false,
  owned_by: model.ownedBy ?? '',
  prices: model.prices === undefined ? {} : pricesJson(model.prices),
  price_source: model.priceSource,
}))

export const referenceModelEndpoints = [
  admin.list('/reference-models', {
    summary: 'List reference models with prices; this creates no models',
    item: referenceModelView,
    filters: {
      rate: z.string().optional().meta({
        description:
          'The price of one yuan in the platform’s currency. Required unless that currency is CNY.',
        example: '0.14',
      }),
    },
    idOf: ({ id }) => id,
    handle: ({ ctx: { currency }, query }) => referenceModelsIn(currency, query.rate),
  }),
]
