/** A notification, as both APIs show it. */
import { z } from '@hono/zod-openapi'
import { operatorAudience } from '../../notifications/notification-kinds.ts'
import { renderText, type Language } from '../../notifications/locales/notification-texts.ts'
import type { Notification } from '../../notifications/notifications.ts'
import { time } from './json-schemas.ts'
import { formatTime } from './json-values.ts'

export const severity = z.enum(['info', 'warning', 'critical'])

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
export type NotificationJson = z.infer<typeof notificationSchema>

/** `language`: that of the title and the text. */
export function serializeNotification(notification: Notification, language: Language): NotificationJson {
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
