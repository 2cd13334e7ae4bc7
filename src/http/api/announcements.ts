/** An announcement, as both APIs show it. */
import { z } from 'zod'
import { view } from './define-endpoints.ts'
import type { Announcement } from '../../notifications/announcements.ts'
import { language, time } from './json-schemas.ts'
import { formatTime } from './json-values.ts'

export const announcement = z.object({
  id: z.string(),
  /** By language. */
  title: z.partialRecord(language, z.string()),
  text: z.partialRecord(language, z.string()),
  severity: z.enum(['info', 'warning', 'critical']),
  from: time,
  to: time.nullable(),
})
export type AnnouncementJson = z.infer<typeof announcement>

export function serializeAnnouncement({
  id,
  title,
  text,
  severity,
  from,
  to,
}: Announcement): AnnouncementJson {
  return { id, title, text, severity, from: formatTime(from), to: formatTime(to) }
}

export const announcementView = view('announcement', announcement, serializeAnnouncement)
