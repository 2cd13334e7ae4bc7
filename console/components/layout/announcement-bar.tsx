/** What the operators have to tell everybody, above every page. */
import { queryOptions, useQuery } from '@tanstack/react-query'
import { get } from '../../api/client.ts'
import type { Announcement } from '../../contract.ts'
import { useLanguage, type Language } from '../../language.ts'
import { Icon } from './icon.tsx'

const announcementsQuery = queryOptions({
  queryKey: ['announcements'],
  queryFn: () => get<{ data: Announcement[] }>('/console/announcements'),
  refetchInterval: 60_000,
})

/** In the reader's language where it was written in it, else in the other. */
export function inLanguage(texts: Announcement['title'], language: Language): string {
  return texts[language] ?? texts.en ?? texts['zh-CN'] ?? ''
}

const looks: Readonly<Record<Announcement['severity'], string>> = {
  info: 'banner info',
  warning: 'banner',
  critical: 'banner critical',
}

export function AnnouncementBar() {
  const language = useLanguage()
  const announcements = useQuery(announcementsQuery).data?.data ?? []
  return announcements.map(({ id, title, text, severity }) => (
    <div key={id} className={looks[severity]} role="status">
      <Icon name={severity === 'info' ? 'megaphone' : 'alert'} />
      <strong>{inLanguage(title, language)}</strong>
      <span>{inLanguage(text, language)}</span>
    </div>
  ))
}
