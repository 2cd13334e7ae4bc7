/** `/upstreams/{id}/test` and `/upstreams/{id}/fetch-models`: real calls to an upstream to check its configuration. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import type { AdminContext } from '../admin-context.ts'
import { idParams, okResponse } from '../schemas.ts'
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

const test = createRoute({
  method: 'post',
  path: '/upstreams/{id}/test',
  summary: 'Test an upstream with one real, inexpensive call',
  request: {
    params: idParams,
    body: {
      content: {
        'application/json': {
          schema: z.strictObject({
            model: z.string().min(1).nullish().meta({
              description:
                'The upstream’s name of a model. Default: a model routed to it; if there is none, the test lists its models.',
            }),
          }),
        },
      },
    },
  },
  responses: okResponse(testResultSchema, 'The result; a failed call is 200 with `ok: false`.'),
})

const fetchModels = createRoute({
  method: 'post',
  path: '/upstreams/{id}/fetch-models',
  summary: 'Fetch the list of models from an upstream',
  request: { params: idParams },
  responses: okResponse(
    upstreamModelsSchema,
    'The models; a failed call is 200 with `ok: false` and no models.',
  ),
})

export function upstreamCheckRoutes(admin: AdminContext): OpenAPIHono {
  const app = new OpenAPIHono()
  app.openapi(test, async (c) => {
    const { id } = await requireUpstream(admin, c.req.valid('param').id)
    const result = await admin.ctx.testUpstream(id, c.req.valid('json').model ?? null)
    const { ok, status, durationMs, message } = result
    return c.json({ ok, status, duration_ms: durationMs, message }, 200)
  })
  app.openapi(fetchModels, async (c) => {
    const { id } = await requireUpstream(admin, c.req.valid('param').id)
    const { ok, status, message, models } = await admin.ctx.fetchModels(id)
    return c.json({ ok, status, message, models: [...models] }, 200)
  })
  return app
}
