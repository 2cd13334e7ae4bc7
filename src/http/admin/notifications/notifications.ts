/** `/notices`: notifications to accounts and operators, and the preferences for their delivery. */
import { z } from '@hono/zod-openapi'
import { admin } from '../admin-context.ts'
import { operatorAudience } from '../../../notifications/notification-kinds.ts'
import { listNotifications, markNotificationsRead } from '../../../notifications/notifications.ts'
import { preferencesOf, setPreferences } from '../../../notifications/preferences.ts'
import { languages } from '../../../notifications/locales/notification-texts.ts'
import { requireAccount } from '../accounts/accounts.ts'
import { notificationSchema, serializeNotification, severity } from '../../api/notifications.ts'

const preferences = z
  .record(z.string(), z.array(z.string()).readonly())
  .readonly()
  .meta({
    description: 'The channels for each kind of notification. The console always shows all notifications.',
    example: { balance: ['email'] },
  })

const preferencesResponse = { response: preferences, returns: 'The channels by kind.' }
const updatedPreferences = { body: preferences, response: preferences, returns: 'The updated preferences.' }

export const notificationEndpoints = [
  admin.page('/notices', {
    summary: 'List notifications, newest first',
    item: notificationSchema,
    returns: 'A page of notifications.',
    filters: {
      audience: z.enum(['account', 'operator']).optional(),
      account: z.string().optional(),
      kind: z.string().optional(),
      severity: severity.optional(),
      unread: z.enum(['true', 'false']).optional(),
      language: z.enum(languages).default('en').meta({ description: 'The language of `title` and `text`.' }),
    },
    cursor: /^\d{1,15}$/,
    async handle({ ctx, query: { unread, account, audience, language, kind, severity: filtered }, page }) {
      const filter = {
        kind,
        severity: filtered,
        audience: audience === 'operator' ? operatorAudience : account,
        accountsOnly: audience === 'account',
        unread: unread === 'true',
      }
      const { data, next } = await listNotifications(ctx.db, filter, page)
      return { data: data.map((notification) => serializeNotification(notification, language)), next }
    },
  }),
  admin.post('/notices/read', {
    summary: 'Mark notifications as read: by id, or all those of the operators',
    body: z.union([
      z.strictObject({ ids: z.array(z.string()).min(1).max(1000) }),
      z.strictObject({ all: z.literal(true) }),
    ]),
    response: z.object({ marked: z.int() }),
    returns: 'How many were unread.',
    handle: async ({ ctx, body }) => ({
      marked: await markNotificationsRead(ctx.db, 'ids' in body ? body : { audience: operatorAudience }),
    }),
  }),
  admin.get('/notice-preferences', {
    summary: 'Get the notification preferences of the operators',
    ...preferencesResponse,
    handle: ({ ctx }) => preferencesOf(ctx.db, operatorAudience),
  }),
  admin.patch('/notice-preferences', {
    summary: 'Update the notification preferences of the operators',
    ...updatedPreferences,
    handle: ({ ctx, by, body }) => setPreferences(ctx.db, operatorAudience, body, by),
  }),
  admin.get('/accounts/{id}/notice-preferences', {
    summary: 'Get the notification preferences of an account',
    ...preferencesResponse,
    handle: async ({ ctx: { db }, params }) => preferencesOf(db, (await requireAccount(db, params.id)).id),
  }),
  admin.patch('/accounts/{id}/notice-preferences', {
    summary: 'Update the notification preferences of an account',
    ...updatedPreferences,
    handle: async ({ ctx: { db }, by, params, body }) =>
      setPreferences(db, (await requireAccount(db, params.id)).id, body, by),
  }),
]
