/** `/limit-requests`: customers' requests for higher limits, and the answers to them. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { accountById, updateAccount } from '../../../accounts/accounts.ts'
import {
  answerLimitRequest,
  limitRequestById,
  listLimitRequests,
  type LimitRequest,
} from '../../../accounts/limit-requests.ts'
import { apiError } from '../../../errors.ts'
import { limitRequest, serializeLimitRequest } from '../../api/limit-requests.ts'
import type { AdminContext } from '../admin-context.ts'
import { writeAndPublish } from '../../api/publish.ts'
import { jsonBody, idParams, limitsInput, toLimitsPatch, listResponse, okResponse } from '../schemas.ts'
import { pageFields } from '../../api/pagination.ts'
import { decodeCursor, encodeCursor } from '../../api/json-values.ts'

const listRequests = createRoute({
  method: 'get',
  path: '/limit-requests',
  summary: 'List requests for higher limits, newest first',
  request: {
    query: z.strictObject({ ...pageFields, status: z.enum(['open', 'granted', 'declined']).optional() }),
  },
  responses: listResponse(limitRequest, 'A page of requests.'),
})
const answerRequest = createRoute({
  method: 'post',
  path: '/limit-requests/{id}',
  summary: 'Grant a limit request, as requested or with other limits, or decline it',
  request: {
    params: idParams,
    body: jsonBody(
      z.strictObject({
        decision: z.enum(['grant', 'decline']),
        limits: limitsInput.optional().meta({ description: 'Granted instead of the requested limits.' }),
        answer: z.string().max(2000).default(''),
      }),
    ),
  },
  responses: okResponse(limitRequest, 'The answered request.'),
})
const idCursor = /^\w{1,60}$/

export function limitRequestRoutes(admin: AdminContext): OpenAPIHono {
  const { ctx, by } = admin
  const { db } = ctx

  async function serialize(request: LimitRequest) {
    const account = await accountById(db, request.accountId)
    return serializeLimitRequest(request, account?.email ?? '')
  }

  const app = new OpenAPIHono()
  app.openapi(listRequests, async (c) => {
    const { cursor, ...rest } = c.req.valid('query')
    const { data, next } = await listLimitRequests(db, { ...rest, cursor: decodeCursor(cursor, idCursor) })
    return c.json({ data: await Promise.all(data.map(serialize)), next: encodeCursor(next) }, 200)
  })
  app.openapi(answerRequest, async (c) => {
    const { decision, limits, answer } = c.req.valid('json')
    const request = await limitRequestById(db, c.req.valid('param').id)
    if (request.status !== 'open')
      throw apiError('conflict', { message: 'This request has already been answered.' })
    if (decision === 'grant') {
      const granted = toLimitsPatch(limits ?? request.wanted)
      await writeAndPublish(admin, updateAccount(db, request.accountId, { limits: granted }, by))
    }
    const status = decision === 'grant' ? 'granted' : 'declined'
    return c.json(await serialize(await answerLimitRequest(db, request.id, { status, answer }, by)), 200)
  })
  return app
}
