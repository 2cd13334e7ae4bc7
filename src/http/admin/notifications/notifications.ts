/** `/notices`: what accounts and operators have to be told, and by which channels they hear it. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { operator } from '../../../notifications/notification-kinds.ts'
import { listNotices, markNoticesRead, type Notice } from '../../../notifications/notifications.ts'
import { preferencesOf, setPreferences } from '../../../notifications/preferences.ts'
import { languages, textOf, type Language } from '../../../notifications/locales/notification-texts.ts'
import { knownAccount } from '../accounts/accounts.ts'
import type { Desk } from '../desk.ts'
import {
  bodyOf,
  idPath,
  listAnswer,
  okAnswer,
  openedCursor,
  pageFields,
  sealedCursor,
  time,
  timeOf,
} from '../schemas.ts'

const severity = z.enum(['info', 'warning', 'critical'])
export const noticeOut = z
  .object({
    id: z.string(),
    time,
    audience: z.enum(['account', 'operator']),
    account: z.string().nullable().meta({ description: 'Whose it is; null is the operators’.' }),
    kind: z.string(),
    severity,
    subject: z.string().meta({ description: 'What it is about.' }),
    code: z.string(),
    params: z.record(z.string(), z.string()),
    title: z.string(),
    text: z.string(),
    read_at: time.nullable(),
  })
  .openapi('Notice')
const preferences = z
  .record(z.string(), z.array(z.string()).readonly())
  .readonly()
  .meta({
    description: 'Names of channels by kind of notice; the console shows all of them anyway.',
    example: { balance: ['email'] },
  })

const list = createRoute({
  method: 'get',
  path: '/notices',
  summary: 'List notices, newest first',
  request: {
    query: z.strictObject({
      ...pageFields,
      audience: z.enum(['account', 'operator']).optional(),
      account: z.string().optional(),
      kind: z.string().optional(),
      severity: severity.optional(),
      unread: z.enum(['true', 'false']).optional(),
      language: z.enum(languages).default('en').meta({ description: 'Of `title` and `text`.' }),
    }),
  },
  responses: listAnswer(noticeOut, 'A page of notices.'),
})
const read = createRoute({
  method: 'post',
  path: '/notices/read',
  summary: 'Mark notices as read: those named, or all of the operators’',
  request: {
    body: bodyOf(
      z.union([
        z.strictObject({ ids: z.array(z.string()).min(1).max(1000) }),
        z.strictObject({ all: z.literal(true) }),
      ]),
    ),
  },
  responses: okAnswer(z.object({ marked: z.int() }), 'How many had not been read before.'),
})
const operatorPreferences = createRoute({
  method: 'get',
  path: '/notice-preferences',
  summary: 'Which notices the operators hear of by which channels',
  responses: okAnswer(preferences, 'By kind.'),
})
const setOperatorPreferences = createRoute({
  method: 'patch',
  path: '/notice-preferences',
  summary: 'Change the kinds given',
  request: { body: bodyOf(preferences) },
  responses: okAnswer(preferences, 'As they are now.'),
})
const accountPreferences = createRoute({
  method: 'get',
  path: '/accounts/{id}/notice-preferences',
  summary: 'Which notices an account hears of by which channels',
  request: { params: idPath },
  responses: okAnswer(preferences, 'By kind.'),
})
const setAccountPreferences = createRoute({
  method: 'patch',
  path: '/accounts/{id}/notice-preferences',
  summary: 'Change the kinds given',
  request: { params: idPath, body: bodyOf(preferences) },
  responses: okAnswer(preferences, 'As they are now.'),
})

/** A notice as it is shown; the console's doors show the same. */
export function noticeView(notice: Notice, language: Language): z.infer<typeof noticeOut> {
  const { id, kind, code, params, subject } = notice
  const isOperators = notice.audience === operator
  return {
    id,
    time: timeOf(notice.createdAt),
    audience: isOperators ? 'operator' : 'account',
    account: isOperators ? null : notice.audience,
    kind,
    severity: notice.severity,
    subject,
    code,
    params,
    ...textOf(notice, language),
    read_at: timeOf(notice.readAt),
  }
}

export function noticeRoutes({ house: { db }, by }: Desk): OpenAPIHono {
  const app = new OpenAPIHono()
  app.openapi(list, async (c) => {
    const { limit, cursor, unread, account, audience, language, ...named } = c.req.valid('query')
    const filter = {
      ...named,
      audience: audience === 'operator' ? operator : account,
      accountsOnly: audience === 'account',
      unread: unread === 'true',
    }
    const page = { limit, cursor: openedCursor(cursor, /^\d{1,15}$/) }
    const { data, next } = await listNotices(db, filter, page)
    return c.json({ data: data.map((each) => noticeView(each, language)), next: sealedCursor(next) }, 200)
  })
  app.openapi(read, async (c) => {
    const given = c.req.valid('json')
    const marked = await markNoticesRead(db, 'ids' in given ? given : { audience: operator })
    return c.json({ marked }, 200)
  })
  app.openapi(operatorPreferences, async (c) => c.json(await preferencesOf(db, operator), 200))
  app.openapi(setOperatorPreferences, async (c) => {
    return c.json(await setPreferences(db, operator, c.req.valid('json'), by), 200)
  })
  app.openapi(accountPreferences, async (c) => {
    return c.json(await preferencesOf(db, (await knownAccount(db, c.req.valid('param').id)).id), 200)
  })
  app.openapi(setAccountPreferences, async (c) => {
    const account = (await knownAccount(db, c.req.valid('param').id)).id
    return c.json(await setPreferences(db, account, c.req.valid('json'), by), 200)
  })
  return app
}
