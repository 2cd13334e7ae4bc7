/** `/requests`: what was asked, how it ended, what it cost. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { listRequests, requestById } from '../../../usage/request-records.ts'
import { refuse } from '../../../errors.ts'
import { refundedNanos } from '../../../ledger/credits/refunds.ts'
import { decimalOf } from '../../../lib/money.ts'
import { rowById } from '../../../usage/request-pages.ts'
import { billOfRow } from '../../api/request-bill.ts'
import { bill } from '../../console/contract/usage.ts'
import type { Desk } from '../desk.ts'
import {
  idPath,
  listAnswer,
  money,
  msOf,
  okAnswer,
  openedCursor,
  pageFields,
  sealedCursor,
  time,
  timeAsked,
} from '../schemas.ts'

const outcome = z.enum(['ok', 'refused', 'failed', 'truncated', 'aborted', 'ended'])
const attempt = z.object({
  upstream: z.string(),
  outcome: z.string(),
  http_status: z.int().nullable(),
  duration_ms: z.number(),
  cost: money.nullable().meta({ description: 'What it cost us; null when the upstream has no prices.' }),
  searches: z.int().optional(),
  clamped: z.literal(true).optional().meta({ description: 'Its usage was more than the model can hold.' }),
})
export const requestOut = z
  .object({
    request_id: z.string(),
    time,
    account: z.string(),
    key: z.string(),
    model: z.string(),
    upstream: z.string().nullable(),
    http_status: z.int(),
    outcome: outcome.meta({
      description: '`ended`: by us, for money or time; `aborted`: by the caller.',
    }),
    stream: z.boolean(),
    finish: z.string().nullable().meta({ description: 'The upstream’s word.' }),
    prompt_tokens: z.int(),
    cached_tokens: z.int(),
    completion_tokens: z.int(),
    reasoning_tokens: z.int(),
    searches: z.int().meta({ description: 'Of the web, that the provider did for it.' }),
    usage_source: z.enum(['provider', 'estimate']).nullable(),
    usage_clamped: z.boolean().meta({
      description: 'The provider claimed more than the model’s context can hold; charged up to that.',
    }),
    cost: money,
    currency: z.string(),
    first_token_ms: z.number().nullable(),
    duration_ms: z.number(),
    attempts: z.array(attempt).readonly(),
  })
  .openapi('Request')

export const requestDetailOut = requestOut
  .extend({
    upstream_cost: money
      .nullable()
      .meta({ description: 'What all its attempts cost us; null when an upstream has no prices.' }),
    refunded: money,
    margin: money.nullable().meta({ description: 'Its cost, less what was given back and what it cost us.' }),
    bill: bill.nullable().meta({ description: 'Line by line; null where nothing was charged.' }),
  })
  .openapi('RequestDetail')

const list = createRoute({
  method: 'get',
  path: '/requests',
  summary: 'List requests, newest first',
  request: {
    query: z.strictObject({
      ...pageFields,
      account: z.string().optional(),
      key: z.string().optional(),
      model: z.string().optional(),
      outcome: outcome.optional(),
      from: timeAsked.optional(),
      to: timeAsked.optional().meta({ description: 'Not included.' }),
      request_id: z.string().optional(),
    }),
  },
  responses: listAnswer(requestOut, 'A page of requests.'),
})
const read = createRoute({
  method: 'get',
  path: '/requests/{id}',
  summary: 'Read one request',
  request: { params: idPath },
  responses: okAnswer(requestDetailOut, 'The request, with its bill.'),
})

export function requestRoutes({ house }: Desk): OpenAPIHono {
  const app = new OpenAPIHono()
  app.openapi(list, async (c) => {
    const { limit, cursor, from, to, request_id: requestId, ...named } = c.req.valid('query')
    const filter = { ...named, requestId, from: msOf(from), to: msOf(to) }
    const page = { limit, cursor: openedCursor(cursor, /^\d+\.\d+$/) }
    const { data, next } = await listRequests(house.db, filter, page)
    return c.json({ data, next: sealedCursor(next) }, 200)
  })
  app.openapi(read, async (c) => {
    const { db } = house
    const request = await requestById(db, c.req.valid('param').id)
    const row = request && (await rowById(db, request.account, request.request_id))
    if (request === undefined || row === undefined)
      throw refuse('not_found', { message: 'There is no such request.' })
    const upstreamCost = row.upstream_cost_nanos
    const refunded = await refundedNanos(db, row.request_id)
    const body = {
      ...request,
      upstream_cost: upstreamCost === null ? null : decimalOf(upstreamCost),
      refunded: decimalOf(refunded),
      margin: upstreamCost === null ? null : decimalOf(row.cost_nanos - refunded - upstreamCost),
      bill: await billOfRow(db, row),
    }
    return c.json(body, 200)
  })
  return app
}
