/** `/notices`: notifications to accounts and operators, and the preferences for their delivery. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { operatorAudience } from '../../../notifications/notification-kinds.ts'
import {
  listNotifications,
  markNotificationsRead,
  type Notification,
} from '../../../notifications/notifications.ts'
import { preferencesOf, setPreferences } from '../../../notifications/preferences.ts'
import { languages, renderText, type Language } from '../../../notifications/locales/notification-texts.ts'
import { requireAccount } from '../accounts/accounts.ts'
import type { AdminContext } from '../admin-context.ts'
import { jsonBody, idParams, listResponse, okResponse, time } from '../schemas.ts'
import { pageFields } from '../../api/pagination.ts'
import { decodeCursor, encodeCursor, formatTime } from '../../api/json-values.ts'

const severity = z.enum(['info', 'warning', 'critical'])
export const notificationSchema = z
  .object({
    id: z.string(),
    time,
    audience: z.enum(['account', 'operator']),
    account: z.string().nullable().meta({ description: 'The account it is for; null: the operators.' }),
    kind: z.string(),
    severity,
    subject: z.string().meta({ description: 'What it is about, such as a promotion or an incident.' }),
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
    description: 'The channels for each kind of notification. The console always shows all notifications.',
    example: { balance: ['email'] },
  })

const list = createRoute({
  method: 'get',
  path: '/notices',
  summary: 'List notifications, newest first',
  request: {
    query: z.strictObject({
      ...pageFields,
      audience: z.enum(['account', 'operator']).optional(),
      account: z.string().optional(),
      kind: z.string().optional(),
      severity: severity.optional(),
      unread: z.enum(['true', 'false']).optional(),
      language: z.enum(languages).default('en').meta({ description: 'The language of `title` and `text`.' }),
    }),
  },
  responses: listResponse(notificationSchema, 'A page of notifications.'),
})
const markRead = createRoute({
  method: 'post',
  path: '/notices/read',
  summary: 'Mark notifications as read: by id, or all those of the operators',
  request: {
    body: jsonBody(
      z.union([
        z.strictObject({ ids: z.array(z.string()).min(1).max(1000) }),
        z.strictObject({ all: z.literal(true) }),
      ]),
    ),
  },
  responses: okResponse(z.object({ marked: z.int() }), 'How many were unread.'),
})
const operatorPreferences = createRoute({
  method: 'get',
  path: '/notice-preferences',
  summary: 'Get the notification preferences of the operators',
  responses: okResponse(preferences, 'The channels by kind.'),
})
const setOperatorPreferences = createRoute({
  method: 'patch',
  path: '/notice-preferences',
  summary: 'Update the notification preferences of the operators',
  request: { body: jsonBody(preferences) },
  responses: okResponse(preferences, 'The updated preferences.'),
})
const accountPreferences = createRoute({
  method: 'get',
  path: '/accounts/{id}/notice-preferences',
  summary: 'Get the notification preferences of an account',
  request: { params: idParams },
  responses: okResponse(preferences, 'The channels by kind.'),
})
const setAccountPreferences = createRoute({
  method: 'patch',
  path: '/accounts/{id}/notice-preferences',
  summary: 'Update the notification preferences of an account',
  request: { params: idParams, body: jsonBody(preferences) },
  responses: okResponse(preferences, 'The updated preferences.'),
})

export function serializeNotification(
  notification: Notification,
  language: Language,
): z.infer<typeof notificationSchema> {
  const { id, kind, code, params, subject } = notification
  const isOperators = notification.audience === operatorAudience
  return {
    id,
    time: formatTime(notification.createdAt),
    audience: isOperators ? 'operator' : 'account',
    account: isOperators ? null : notification.audience,
    kind,
    severity: notification.severity,
    subject,
    code,
    params,
    ...renderText(notification, language),
    read_at: formatTime(notification.readAt),
  }
}

export function notificationRoutes({ ctx: { db }, by }: AdminContext): OpenAPIHono {
  const app = new OpenAPIHono()
  app.openapi(list, async (c) => {
    const { limit, cursor, unread, account, audience, language, ...filters } = c.req.valid('query')
    const filter = {
      ...filters,
      audience: audience === 'operator' ? operatorAudience : account,
      accountsOnly: audience === 'account',
      unread: unread === 'true',
    }
    const page = { limit, cursor: decodeCursor(cursor, /^\d{1,15}$/) }
    const { data, next } = await listNotifications(db, filter, page)
    return c.json(
      {
        data: data.map((notification) => serializeNotification(notification, language)),
        next: encodeCursor(next),
      },
      200,
    )
  })
  app.openapi(markRead, async (c) => {
    const body = c.req.valid('json')
    const marked = await markNotificationsRead(db, 'ids' in body ? body : { audience: operatorAudience })
    return c.json({ marked }, 200)
  })
  app.openapi(operatorPreferences, async (c) => c.json(await preferencesOf(db, operatorAudience), 200))
  app.openapi(setOperatorPreferences, async (c) => {
    return c.json(await setPreferences(db, operatorAudience, c.req.valid('json'), by), 200)
  })
  app.openapi(accountPreferences, async (c) => {
    return c.json(await preferencesOf(db, (await requireAccount(db, c.req.valid('param').id)).id), 200)
  })
  app.openapi(setAccountPreferences, async (c) => {
    const account = (await requireAccount(db, c.req.valid('param').id)).id
    return c.json(await setPreferences(db, account, c.req.valid('json'), by), 200)
  })
  return app
}
