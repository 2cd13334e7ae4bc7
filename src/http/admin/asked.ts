/** `/limit-requests` and `/announcements`: what customers ask for, and what they are told. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { accountById, updateAccount } from '../../accounts/accounts.ts'
import {
  answerLimitRequest,
  limitRequestById,
  listLimitRequests,
  type LimitRequest,
} from '../../accounts/limit-requests.ts'
import { refuse } from '../../errors.ts'
import {
  announce,
  deleteAnnouncement,
  listAnnouncements,
  updateAnnouncement,
  type AnnouncementPatch,
} from '../../notifications/announcements.ts'
import { announcementView, limitRequestView } from '../console/account.ts'
import { announcement, limitRequest } from '../console/contract/account.ts'
import { announcementIn } from '../console/contract/operator.ts'
import { announced, type Desk } from './desk.ts'
import {
  bodyOf,
  createdAnswer,
  gone,
  idPath,
  limitsIn,
  limitsPatch,
  listAnswer,
  msOf,
  okAnswer,
  openedCursor,
  pageFields,
  sealedCursor,
} from './schemas.ts'

const listRequests = createRoute({
  method: 'get',
  path: '/limit-requests',
  summary: 'List requests for higher limits, newest first',
  request: {
    query: z.strictObject({ ...pageFields, status: z.enum(['open', 'granted', 'declined']).optional() }),
  },
  responses: listAnswer(limitRequest, 'A page of requests.'),
})
const answerRequest = createRoute({
  method: 'post',
  path: '/limit-requests/{id}',
  summary: 'Grant a request for limits, as wanted or otherwise, or decline it',
  request: {
    params: idPath,
    body: bodyOf(
      z.strictObject({
        decision: z.enum(['grant', 'decline']),
        limits: limitsIn.optional().meta({ description: 'Instead of what was wanted.' }),
        answer: z.string().max(2000).default(''),
      }),
    ),
  },
  responses: okAnswer(limitRequest, 'The request with its answer.'),
})
const list = createRoute({
  method: 'get',
  path: '/announcements',
  summary: 'List announcements, newest first',
  request: { query: z.strictObject(pageFields) },
  responses: listAnswer(announcement, 'A page of announcements.'),
})
const create = createRoute({
  method: 'post',
  path: '/announcements',
  summary: 'Tell everybody who signs in',
  request: { body: bodyOf(announcementIn) },
  responses: createdAnswer(announcement, 'The announcement.'),
})
const change = createRoute({
  method: 'patch',
  path: '/announcements/{id}',
  summary: 'Change the fields given',
  request: { params: idPath, body: bodyOf(announcementIn.partial()) },
  responses: okAnswer(announcement, 'The announcement as it is now.'),
})
const remove = createRoute({
  method: 'delete',
  path: '/announcements/{id}',
  summary: 'Delete an announcement',
  request: { params: idPath },
  responses: okAnswer(gone, 'It is gone.'),
})

const idCursor = /^\w{1,60}$/

function patchOf({ from, to, ...rest }: Partial<z.infer<typeof announcementIn>>): AnnouncementPatch {
  return { ...rest, from: msOf(from), to: msOf(to) }
}

export function askedRoutes(desk: Desk): OpenAPIHono {
  const { house, by } = desk
  const { db } = house

  async function view(asked: LimitRequest) {
    const account = await accountById(db, asked.accountId)
    return limitRequestView(asked, account?.email ?? '')
  }

  const app = new OpenAPIHono()
  app.openapi(listRequests, async (c) => {
    const { cursor, ...rest } = c.req.valid('query')
    const { data, next } = await listLimitRequests(db, { ...rest, cursor: openedCursor(cursor, idCursor) })
    return c.json({ data: await Promise.all(data.map(view)), next: sealedCursor(next) }, 200)
  })
  app.openapi(answerRequest, async (c) => {
    const { decision, limits, answer } = c.req.valid('json')
    const asked = await limitRequestById(db, c.req.valid('param').id)
    if (asked.status !== 'open') throw refuse('conflict', { message: 'This request was answered before.' })
    if (decision === 'grant') {
      const granted = limitsPatch(limits ?? asked.wanted)
      await announced(desk, updateAccount(db, asked.accountId, { limits: granted }, by))
    }
    const status = decision === 'grant' ? 'granted' : 'declined'
    return c.json(await view(await answerLimitRequest(db, asked.id, { status, answer }, by)), 200)
  })
  app.openapi(list, async (c) => {
    const { limit, cursor } = c.req.valid('query')
    const { data, next } = await listAnnouncements(db, { limit, cursor: openedCursor(cursor, idCursor) })
    return c.json({ data: data.map(announcementView), next: sealedCursor(next) }, 200)
  })
  app.openapi(create, async (c) => {
    return c.json(announcementView(await announce(db, patchOf(c.req.valid('json')), by)), 201)
  })
  app.openapi(change, async (c) => {
    const { id } = c.req.valid('param')
    return c.json(announcementView(await updateAnnouncement(db, id, patchOf(c.req.valid('json')), by)), 200)
  })
  app.openapi(remove, async (c) => {
    const { id } = c.req.valid('param')
    await deleteAnnouncement(db, id, by)
    return c.json({ id, deleted: true as const }, 200)
  })
  return app
}
