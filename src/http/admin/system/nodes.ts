/** `/nodes`: the nodes of a cluster, and the end of one that will not come back. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { auditRow } from '../../../db/audit.ts'
import type { Desk } from '../desk.ts'
import { listAnswer, okAnswer, time, timeOf } from '../schemas.ts'
import { shortListFields, shownOf } from '../short-lists.ts'

const nodeOut = z
  .object({
    id: z.string(),
    name: z.string().meta({ description: 'The name of its machine.' }),
    version: z.string(),
    state: z.enum(['running', 'silent', 'stopped', 'retired']).meta({
      description: 'silent: not heard of for 15 seconds; after 15 minutes it is retired by itself.',
    }),
    started_at: time,
    seen_at: time,
    open_holds: z.int(),
  })
  .openapi('Node')

const list = createRoute({
  method: 'get',
  path: '/nodes',
  summary: 'The nodes of the cluster; none where one relay works by itself',
  request: { query: z.strictObject(shortListFields) },
  responses: listAnswer(nodeOut, 'All of them.'),
})
const retire = createRoute({
  method: 'post',
  path: '/nodes/{id}/retire',
  summary: 'Give up a node: its requests are charged at the last marks it has uploaded',
  description: 'Nothing that it still sends is taken. If it comes back it joins again, as a new start would.',
  request: { params: z.object({ id: z.string() }) },
  responses: okAnswer(
    z.object({ id: z.string(), settled: z.int() }),
    'How many of its requests were settled.',
  ),
})

export function nodeRoutes({ house, by }: Desk): OpenAPIHono {
  const app = new OpenAPIHono()
  app.openapi(list, async (c) => {
    const nodes = await house.nodes()
    const data = nodes.map(({ startedAt, seenAt, openHolds, ...rest }) => ({
      ...rest,
      started_at: timeOf(startedAt),
      seen_at: timeOf(seenAt),
      open_holds: openHolds,
    }))
    return c.json(
      shownOf(data, c.req.valid('query'), ({ id }) => id),
      200,
    )
  })
  app.openapi(retire, async (c) => {
    const { id } = c.req.valid('param')
    const settled = await house.retireNode(id)
    await house.db.write(auditRow(by, 'node.retire', id, { settled }))
    return c.json({ id, settled }, 200)
  })
  return app
}
