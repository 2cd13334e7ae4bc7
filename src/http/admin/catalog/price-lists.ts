/** `/price-lists`: the provider price lists bundled with this release, as a basis for setting prices. */
import { z } from '@hono/zod-openapi'
import { jsonFields } from '../../api/json-fields.ts'
import { admin } from '../admin-context.ts'
import { listedProviders, parseListRate, priceListOf } from '../../../catalog/price-lists.ts'
import { apiError } from '../../../errors.ts'
import { pricesJson } from '../../../catalog/price-input.ts'
import { pricesSchema } from '../schemas.ts'

export const listedModelSchema = z
  .object({
    id: z.string().meta({ description: 'The provider’s name of the model, as in `routes[].model`.' }),
    title: z.string(),
    context_tokens: z.int().nullable().meta({ description: 'null: not on the list.' }),
    prices: pricesSchema,
    remarks: z.array(z.enum(['changes_by_the_hour', 'charges_beside_tokens'])).meta({
      description:
        'What these prices do not cover. Of prices by the hour, the highest is used. No list has service tiers.',
    }),
  })
  .openapi('ListedModel')

export const priceListEndpoints = [
  admin.list('/price-lists/{provider}', {
    summary: 'Get the price list of a provider; this creates no models',
    item: listedModelSchema,
    returns: 'The models that are priced by token.',
    filters: {
      rate: z.string().optional().meta({
        description:
          'The price of one US dollar in the platform’s currency; it may include your margin. Required unless that currency is USD.',
        example: '7.2',
      }),
    },
    idOf: ({ id }) => id,
    async handle({ ctx: { currency }, params: { provider }, query }) {
      const ratePpm = parseListRate(query.rate, currency)
      const models = await priceListOf(provider, ratePpm, new Date().toISOString().slice(0, 10))
      if (models === null) {
        const message = `Price list not found. Available: ${listedProviders.join(', ')}.`
        throw apiError('not_found', { param: 'provider', message })
      }
      return models.map(({ prices, remarks, ...model }) => ({
        ...jsonFields(model),
        prices: pricesJson(prices),
        remarks: [...remarks],
      }))
    },
  }),
]
