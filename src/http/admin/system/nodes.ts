/** `/nodes`: the nodes of a cluster, and retiring one that will not come back. */
import { z } from '@hono/zod-openapi'
import { jsonFields } from '../../api/json-fields.ts'
import { view } from '../../api/define-endpoints.ts'
import { admin } from '../admin-context.ts'
import type { NodeRecord } from '../../../db/postgres/nodes.ts'
import { auditStatement } from '../../../db/audit.ts'
import { time } from '../schemas.ts'

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

const nodeView = view('node', nodeSchema, (node: NodeRecord) => jsonFields(node))

export const nodeEndpoints = [
  admin.list('/nodes', {
    summary: 'List the nodes of the cluster; empty for a single relay',
    item: nodeView,
    idOf: ({ id }) => id,
    handle: ({ ctx }) => ctx.nodes(),
  }),
  admin.post('/nodes/{id}/retire', {
    summary: 'Retire a node: its open requests are charged at their last uploaded marks',
    description:
      'Everything it sends after that is rejected. If it comes back, it joins again as a new node.',
    response: z.object({ id: z.string(), settled: z.int() }),
    returns: 'The number of its requests that were settled.',
    async handle({ ctx, by, params: { id } }) {
      const settled = await ctx.retireNode(id)
      await ctx.db.write(auditStatement(by, 'node.retire', id, { settled }))
      return { id, settled }
    },
  }),
]
