/** Notifications, their channels and their delivery; owned by notifications/. */
import type { Generated } from 'kysely'

export interface NoticesTable {
  /** The order of creation, used for pages and deliveries. */
  row_id: Generated<number>
  id: string
  /** `operator`, or an account's id. */
  audience: string
  /** The kind for which preferences are set. */
  kind: string
  severity: 'info' | 'warning' | 'critical'
  /** The subject; a notification is raised once per audience, kind, subject and period. */
  subject: string
  period: string
  /** Its words, in notifications/locales/notification-texts.ts. */
  code: string
  /** JSON object with the parameters of the text. */
  params: string
  created_at: number
  read_at: number | null
  /** When it was queued for its channels. */
  queued_at: number | null
}

export interface NoticePreferencesTable {
  audience: string
  kind: string
  /** JSON array of channel names; empty: only the console. */
  channels: string
  updated_at: number
}

export type ChannelKind = 'email' | 'webhook' | 'feishu' | 'dingtalk' | 'wecom' | 'slack' | 'telegram'

export interface ChannelsTable {
  id: string
  /** `operator`, or the id of the account that owns it. */
  audience: string
  name: string
  kind: ChannelKind
  /** JSON of its address and secret, sealed with the row's id. */
  target: string
  /** The part of the address that may be displayed. */
  hint: string
  /** JSON array of kinds; null: every kind. */
  kinds: string | null
  language: string
  enabled: 0 | 1
  created_at: number
  updated_at: number
}

/** A notification queued for a channel, until a message includes it. */
export interface DeliveriesTable {
  notice_id: string
  /** A channel's id, or `email:` and the account's id. */
  channel_id: string
  message_id: string | null
}

/** Messages, retried until they are accepted or expire. */
export interface OutboxTable {
  id: string
  channel_id: string
  state: 'queued' | 'sent' | 'failed'
  attempts: number
  created_at: number
  due_at: number
  ended_at: number | null
  last_error: string | null
}

export interface NotificationTables {
  notices: NoticesTable
  notice_preferences: NoticePreferencesTable
  channels: ChannelsTable
  deliveries: DeliveriesTable
  outbox: OutboxTable
}
