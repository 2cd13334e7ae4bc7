/** The operators' announcements, above every page. The same request brings the counts of the menu. */
import { queryOptions, useQuery } from '@tanstack/react-query'
import { get } from '../../api/client.ts'
import type { Announcement, MenuCounts } from '../../api/contract.ts'
import { useLanguage, type Language } from '../../locales/messages.ts'
import { Icon } from './icon.tsx'

export const announcementsQuery = queryOptions({
  queryKey: ['announcements'],
  queryFn: () => get<{ data: Announcement[]; counts: MenuCounts }>('/console/announcements'),
  refetchInterval: 30_000,
})

/** The text in the user's language if there is one, otherwise in the other language. */
export function localized(texts: Announcement['title'], language: Language): string {
  return texts[language] ?? texts.en ?? texts['zh-CN'] ?? ''
}

const bannerClasses: Readonly<Record<Announcement['severity'], string>> = {
  info: 'banner info',
  warning: 'banner',
  critical: 'banner critical',
}

export function AnnouncementBar() {
  const language = useLanguage()
  const announcements = useQuery(announcementsQuery).data?.data ?? []
  return announcements.map(({ id, title, text, severity }) => (
    <div key={id} className={bannerClasses[severity]} role="status">
      <Icon name={severity === 'info' ? 'megaphone' : 'alert'} />
      <strong>{localized(title, language)}</strong>
      <span>{localized(text, language)}</span>
    </div>
  ))
}
