/** `/upstreams/{id}/…`: calls of an upstream, and what the relay has seen of it. */
import { z } from '@hono/zod-openapi'
import { admin } from '../admin-context.ts'
import { maximumStates, resetRouteMaximum } from '../../../catalog/route-maximums.ts'
import { requireUpstream } from './upstreams.ts'

export const testResultSchema = z
  .object({ ok: z.boolean(), status: z.int().nullable(), duration_ms: z.number(), message: z.string() })
  .openapi('UpstreamTrial')

export const upstreamModelsSchema = z
  .object({
    ok: z.boolean(),
    status: z.int().nullable(),
    message: z.string(),
    models: z.array(z.string()).meta({ description: 'Names for `routes[].model`.' }),
  })
  .openapi('UpstreamModels')

export const upstreamActionEndpoints = [
  admin.post('/upstreams/{id}/test', {
    summary: 'Test an upstream with one real, inexpensive call',
    body: z
      .strictObject({
        model: z.string().min(1).nullish().meta({
          description:
            'The upstream’s name of a model. Default: a model routed to it; if there is none, the test lists its models.',
        }),
      })
      .optional(),
    response: testResultSchema,
    returns: 'The result; a failed call is 200 with `ok: false`.',
    async handle({ ctx, params, body }) {
      const { id } = await requireUpstream(ctx, params.id)
      const { ok, status, durationMs, message } = await ctx.testUpstream(id, body?.model ?? null)
      return { ok, status, duration_ms: durationMs, message }
    },
  }),
  admin.post('/upstreams/{id}/fetch-models', {
    summary: 'Fetch the list of models from an upstream',
    response: upstreamModelsSchema,
    returns: 'The models; a failed call is 200 with `ok: false` and no models.',
    async handle({ ctx, params }) {
      const { id } = await requireUpstream(ctx, params.id)
      const { ok, status, message, models } = await ctx.fetchModels(id)
      return { ok, status, message, models: [...models] }
    },
  }),
  admin.post('/upstreams/{id}/reset-maximum', {
    summary: 'Forget whether an upstream obeys the maximum of output tokens of one of its models',
    description:
      'Use it after the upstream was repaired: the routes to the model are `unseen` again, until the next response that shows whether it obeys.',
    body: z.strictObject({
      model: z
        .string()
        .min(1)
        .meta({ description: 'The upstream’s name of the model, as in `routes[].model`.' }),
    }),
    response: z.object({ maximum: z.enum(maximumStates) }),
    returns: 'The state of the routes to the model.',
    async handle({ ctx, by, params, body, publish }) {
      const { id } = await requireUpstream(ctx, params.id)
      return publish(resetRouteMaximum(ctx.db, { upstream_id: id, upstream_model: body.model }, by))
    },
  }),
]
