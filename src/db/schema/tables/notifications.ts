/** What people have to be told, and how: written by the room notices/. */
import type { Generated } from 'kysely'

export interface NoticesTable {
  /** Order of arrival; pages and deliveries go by it. */
  row_id: Generated<number>
  id: string
  /** `operator`, or the id of one account. */
  audience: string
  /** What preferences are set for. */
  kind: string
  severity: 'info' | 'warning' | 'critical'
  /** What it is about; with audience, kind and period it is raised once. */
  subject: string
  period: string
  /** Its words, in notices/words.ts. */
  code: string
  /** JSON object of texts: what the words name. */
  params: string
  created_at: number
  read_at: number | null
  /** When it was given to the channels that bring it elsewhere. */
  queued_at: number | null
}

export interface NoticePreferencesTable {
  audience: string
  kind: string
  /** JSON array of names of channels; empty is none but the console. */
  channels: string
  updated_at: number
}

export type ChannelKind = 'email' | 'webhook' | 'feishu' | 'dingtalk' | 'wecom' | 'slack' | 'telegram'

export interface ChannelsTable {
  id: string
  /** `operator`, or the id of the account whose it is. */
  audience: string
  name: string
  kind: ChannelKind
  /** JSON of its address and secret, sealed with the row's id. */
  target: string
  /** What may be shown of the address. */
  hint: string
  /** JSON array of kinds of notice; null is every kind. */
  kinds: string | null
  language: string
  enabled: 0 | 1
  created_at: number
  updated_at: number
}

/** A notice on its way to a channel: waiting, until a message takes it along. */
export interface DeliveriesTable {
  notice_id: string
  /** A channel's id, or `email:` and the account's id. */
  channel_id: string
  message_id: string | null
}

/** Messages: tried again until they are taken, or for too long. */
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

export interface NoticeTables {
  notices: NoticesTable
  notice_preferences: NoticePreferencesTable
  channels: ChannelsTable
  deliveries: DeliveriesTable
  outbox: OutboxTable
}

export const noticeOwners = {
  notices: 'notices',
  notice_preferences: 'notices',
  channels: 'notices',
  deliveries: 'notices',
  outbox: 'notices',
} as const satisfies Record<keyof NoticeTables, string>
