/** `/flow`: the paths of requests from keys through models to upstreams, and where they fail. */
import { z } from '@hono/zod-openapi'
import { jsonFields } from '../../api/json-fields.ts'
import { admin } from '../admin-context.ts'
import { emailsOfAccounts } from '../../../accounts/accounts.ts'
import { namesOfKeys } from '../../../accounts/keys.ts'
import { loadTrafficFlows } from '../../../usage/traffic-flows.ts'
import { money, time, timeQuery } from '../schemas.ts'
import { parseTime, formatTime } from '../../api/json-values.ts'
import { last24HoursStart } from '../../api/time-spans.ts'

const pathSchema = z.object({
  account: z.string(),
  email: z.string(),
  key: z.string(),
  key_name: z.string(),
  model: z
    .string()
    .meta({ description: 'Empty: rejected before the model was known, or the model does not exist.' }),
  upstream: z.string().nullable().meta({ description: 'The last upstream that was tried; null: none was.' }),
  upstream_name: z.string().nullable(),
  requests: z.int(),
  failures: z.int().meta({ description: 'Rejected, failed, truncated, or ended by the relay.' }),
  cost: money,
})
export const flowSchema = z
  .object({
    from: time.meta({ description: 'If not all requests are counted, the time of the oldest one that is.' }),
    to: time,
    requests: z.int(),
    complete: z
      .boolean()
      .meta({ description: 'false: only the most recent requests in the range are counted.' }),
    data: z.array(pathSchema).meta({ description: 'Busiest first, at most 200.' }),
  })
  .openapi('Flow')

export const trafficFlowEndpoints = [
  admin.get('/flow', {
    summary:
      'Get the paths of requests: key, model, upstream; default: the current hour and the 23 before it',
    query: { from: timeQuery.optional(), to: timeQuery.optional() },
    response: flowSchema,
    returns: 'The paths.',
    async handle({ ctx: { db, catalog }, query }) {
      const to = parseTime(query.to) ?? Date.now()
      const from = parseTime(query.from) ?? last24HoursStart(to)
      const flow = await loadTrafficFlows(db, { from, to, isModel: (id) => catalog.model(id) !== undefined })
      const { flows } = flow
      const [emails, names] = await Promise.all([
        emailsOfAccounts(db, [...new Set(flows.map(({ account }) => account))]),
        namesOfKeys(db, [...new Set(flows.map(({ key }) => key))]),
      ])
      const data = flows.map((each) => ({
        ...jsonFields(each),
        email: emails.get(each.account) ?? each.account,
        key_name: names.get(each.key) ?? '',
        upstream_name: each.upstream && (catalog.upstream(each.upstream)?.name ?? each.upstream),
      }))
      const { requests, isComplete: complete } = flow
      return { from: formatTime(flow.from), to: formatTime(to), requests, complete, data }
    },
  }),
]
