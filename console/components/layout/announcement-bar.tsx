/** The operators' announcements, above every page, until their reader dismisses them. */
import { queryOptions, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { get } from '../../api/client.ts'
import type { Announcement, MenuCounts } from '../../api/contract.ts'
import { useSession } from '../../api/session.ts'
import { useLanguage, useMessages, type Language } from '../../locales/messages.ts'
import { Icon } from './icon.tsx'

/** The same request brings the counts of the menu. */
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
  info: 'banner announcement info',
  warning: 'banner announcement',
  critical: 'banner announcement critical',
}

/** Differs when the announcement says something else than before. */
function contentOf({ title, text, severity }: Announcement): string {
  return JSON.stringify([title, text, severity])
}

/** What the user has dismissed, by id: an announcement whose content has changed since is shown again. */
type Dismissed = Readonly<Record<string, string>>

function useDismissed(announcements: readonly Announcement[]) {
  const storageName = `sluice.dismissed.${useSession().person?.id}`
  const read = (): Dismissed => JSON.parse(localStorage.getItem(storageName) ?? '{}') as Dismissed
  const [dismissed, setDismissed] = useState(read)
  const dismiss = (announcement: Announcement): void => {
    const isShown = ([id]: readonly [string, string]): boolean => announcements.some((item) => item.id === id)
    const kept = Object.entries(read()).filter(isShown)
    const next = { ...Object.fromEntries(kept), [announcement.id]: contentOf(announcement) }
    localStorage.setItem(storageName, JSON.stringify(next))
    setDismissed(next)
  }
  return { dismissed, dismiss }
}

export function AnnouncementBar() {
  const language = useLanguage()
  const t = useMessages('shell')
  const { account } = useSession()
  const announcements = useQuery(announcementsQuery).data?.data ?? []
  const { dismissed, dismiss } = useDismissed(announcements)
  return announcements
    .filter((announcement) => dismissed[announcement.id] !== contentOf(announcement))
    .map((announcement) => {
      const { id, title, text, severity } = announcement
      const name = localized(title, language)
      return (
        <div
          key={id}
          className={account === null ? `${bannerClasses[severity]} brief` : bannerClasses[severity]}
          role="status"
        >
          <Icon name={severity === 'info' ? 'megaphone' : 'alert'} />
          <p>
            <strong>{name}</strong> <span>{localized(text, language)}</span>
          </p>
          <button
            type="button"
            className="ghost"
            aria-label={t.dismiss(name)}
            onClick={() => dismiss(announcement)}
          >
            <Icon name="close" />
          </button>
        </div>
      )
    })
}
