/** What an operator asks of upstreams before relying on them. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import type { Desk } from '../desk.ts'
import { idPath, okAnswer } from '../schemas.ts'
import { knownUpstream } from './upstreams.ts'

export const trialOut = z
  .object({ ok: z.boolean(), status: z.int().nullable(), duration_ms: z.number(), message: z.string() })
  .openapi('UpstreamTrial')

export const modelsOut = z
  .object({
    ok: z.boolean(),
    status: z.int().nullable(),
    message: z.string(),
    models: z.array(z.string()).meta({ description: 'Names as `routes[].model` takes them.' }),
  })
  .openapi('UpstreamModels')

const test = createRoute({
  method: 'post',
  path: '/upstreams/{id}/test',
  summary: 'Make one real, cheap call and tell what happened',
  request: {
    params: idPath,
    body: {
      content: {
        'application/json': {
          schema: z.strictObject({
            model: z.string().min(1).nullish().meta({
              description:
                'The upstream’s name of a model; default: one that is routed to it, and without any its list of models is asked for.',
            }),
          }),
        },
      },
    },
  },
  responses: okAnswer(trialOut, 'What happened; a failed call is 200 with `ok: false`.'),
})

const fetchModels = createRoute({
  method: 'post',
  path: '/upstreams/{id}/fetch-models',
  summary: 'Ask an upstream which models it has',
  request: { params: idPath },
  responses: okAnswer(modelsOut, 'What it says; a failed call is 200 with `ok: false` and no models.'),
})

export function upstreamCallRoutes(desk: Desk): OpenAPIHono {
  const app = new OpenAPIHono()
  app.openapi(test, async (c) => {
    const { id } = await knownUpstream(desk, c.req.valid('param').id)
    const trial = await desk.house.tryUpstream(id, c.req.valid('json').model ?? null)
    const { ok, status, durationMs, message } = trial
    return c.json({ ok, status, duration_ms: durationMs, message }, 200)
  })
  app.openapi(fetchModels, async (c) => {
    const { id } = await knownUpstream(desk, c.req.valid('param').id)
    const { ok, status, message, models } = await desk.house.fetchModels(id)
    return c.json({ ok, status, message, models: [...models] }, 200)
  })
  return app
}
