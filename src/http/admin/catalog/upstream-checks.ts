/** `/upstreams/{id}/test` and `/upstreams/{id}/fetch-models`: real calls to an upstream to check its configuration. */
import { z } from '@hono/zod-openapi'
import { admin } from '../admin-context.ts'
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

export const upstreamCheckEndpoints = [
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
]
