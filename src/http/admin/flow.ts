/** `/flow`: the ways that requests take, from keys over models to upstreams, and where they end badly. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { emailsOfAccounts } from '../../accounts/accounts.ts'
import { namesOfKeys } from '../../accounts/keys.ts'
import { decimalOf } from '../../lib/money.ts'
import { waysTaken } from '../../usage/traffic-flows.ts'
import type { Desk } from './desk.ts'
import { money, msOf, okAnswer, time, timeAsked, timeOf } from './schemas.ts'

const dayMs = 86_400_000

const wayOut = z.object({
  account: z.string(),
  email: z.string(),
  key: z.string(),
  key_name: z.string(),
  model: z
    .string()
    .meta({ description: 'Empty: refused before its model was known, or it named none that there is.' }),
  upstream: z.string().nullable().meta({ description: 'That the request ended at; null: none was asked.' }),
  upstream_name: z.string().nullable(),
  requests: z.int(),
  failures: z.int().meta({ description: 'Refused, failed, cut off, or ended by us.' }),
  cost: money,
})
export const flowOut = z
  .object({
    from: time.meta({ description: 'Of the oldest request that is counted, where not all are.' }),
    to: time,
    requests: z.int(),
    complete: z.boolean().meta({ description: 'False: only the newest requests of the time are counted.' }),
    data: z.array(wayOut).meta({ description: 'Busiest first, at most 200.' }),
  })
  .openapi('Flow')

const read = createRoute({
  method: 'get',
  path: '/flow',
  summary: 'Which ways requests take: key, model, upstream; default: the last 24 hours',
  request: {
    query: z.strictObject({ from: timeAsked.optional(), to: timeAsked.optional() }),
  },
  responses: okAnswer(flowOut, 'The ways.'),
})

export function flowRoutes({ house: { db, catalog } }: Desk): OpenAPIHono {
  const app = new OpenAPIHono()
  app.openapi(read, async (c) => {
    const query = c.req.valid('query')
    const to = msOf(query.to) ?? Date.now()
    const from = msOf(query.from) ?? to - dayMs
    const taken = await waysTaken(db, { from, to, isModel: (id) => catalog.model(id) !== undefined })
    const { ways } = taken
    const [emails, names] = await Promise.all([
      emailsOfAccounts(db, [...new Set(ways.map(({ account }) => account))]),
      namesOfKeys(db, [...new Set(ways.map(({ key }) => key))]),
    ])
    const data = ways.map(({ account, key, model, upstream, requests, failures, costNanos }) => ({
      account,
      email: emails.get(account) ?? account,
      key,
      key_name: names.get(key) ?? '',
      model,
      upstream,
      upstream_name: upstream === null ? null : (catalog.upstream(upstream)?.name ?? upstream),
      requests,
      failures,
      cost: decimalOf(costNanos),
    }))
    const { requests, isComplete: complete } = taken
    return c.json({ from: timeOf(taken.from), to: timeOf(to), requests, complete, data }, 200)
  })
  return app
}
