/** `/nodes`: the nodes of a cluster, and retiring one that will not come back. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { auditStatement } from '../../../db/audit.ts'
import type { AdminContext } from '../admin-context.ts'
import { listResponse, okResponse, time } from '../schemas.ts'
import { formatTime } from '../../api/json-values.ts'
import { optionalPageFields, paginate } from '../../api/pagination.ts'

const nodeSchema = z
  .object({
    id: z.string(),
    name: z.string().meta({ description: 'The host name.' }),
    address: z.string().nullable().meta({ description: 'Host and port; null: not known.' }),
    self: z.boolean().meta({ description: 'Whether it is the node that returns this response.' }),
    version: z.string(),
    state: z.enum(['running', 'silent', 'stopped', 'retired']).meta({
      description: 'silent: no heartbeat for 15 seconds; retired automatically after 15 minutes.',
    }),
    started_at: time,
    seen_at: time,
    open_holds: z.int(),
  })
  .openapi('Node')

const list = createRoute({
  method: 'get',
  path: '/nodes',
  summary: 'List the nodes of the cluster; empty for a single relay',
  request: { query: z.strictObject(optionalPageFields) },
  responses: listResponse(nodeSchema, 'All nodes.'),
})
const retire = createRoute({
  method: 'post',
  path: '/nodes/{id}/retire',
  summary: 'Retire a node: its open requests are charged at their last uploaded marks',
  description: 'Everything it sends after that is rejected. If it comes back, it joins again as a new node.',
  request: { params: z.object({ id: z.string() }) },
  responses: okResponse(
    z.object({ id: z.string(), settled: z.int() }),
    'The number of its requests that were settled.',
  ),
})

export function nodeRoutes({ ctx, by }: AdminContext): OpenAPIHono {
  const app = new OpenAPIHono()
  app.openapi(list, async (c) => {
    const nodes = await ctx.nodes()
    const data = nodes.map(({ startedAt, seenAt, openHolds, isSelf, ...rest }) => ({
      ...rest,
      self: isSelf,
      started_at: formatTime(startedAt),
      seen_at: formatTime(seenAt),
      open_holds: openHolds,
    }))
    return c.json(
      paginate(data, c.req.valid('query'), ({ id }) => id),
      200,
    )
  })
  app.openapi(retire, async (c) => {
    const { id } = c.req.valid('param')
    const settled = await ctx.retireNode(id)
    await ctx.db.write(auditStatement(by, 'node.retire', id, { settled }))
    return c.json({ id, settled }, 200)
  })
  return app
}
