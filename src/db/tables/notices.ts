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
}

export interface NoticePreferencesTable {
  audience: string
  kind: string
  /** JSON array of names of channels; empty is none but the console. */
  channels: string
  updated_at: number
}
