/** The operators' announcements, above every page. */
import { queryOptions, useQuery } from '@tanstack/react-query'
import { get } from '../../api/client.ts'
import type { Announcement } from '../../api/contract.ts'
import { useLanguage, type Language } from '../../locales/messages.ts'
import { Icon } from './icon.tsx'

const announcementsQuery = queryOptions({
  queryKey: ['announcements'],
  queryFn: () => get<{ data: Announcement[] }>('/console/announcements'),
  refetchInterval: 60_000,
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
