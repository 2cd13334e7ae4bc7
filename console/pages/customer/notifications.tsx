/** The account's notifications (caps, balance, incidents, unusual use) and e-mail preferences. */
import { Button, Checkbox } from '@mantine/core'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { get } from '../../api/client.ts'
import type { Notification } from '../../api/contract.ts'
import { useLanguage, useMessages } from '../../locales/messages.ts'
import { mutateAccount } from '../../api/account-queries.ts'
import { changedFields } from '../../components/forms/field-values.ts'
import { useAction } from '../../components/forms/use-action.ts'
import { QueryBoundary, PagedList } from '../../components/feedback/query-boundary.tsx'
import { EmptyState, ErrorMessage } from '../../components/feedback/empty-state.tsx'
import { announcementsQuery } from '../../components/layout/announcement-bar.tsx'
import { NotificationList } from '../../components/tables/notification-list.tsx'
import { Page, Section } from '../../components/layout/page.tsx'
import { queryClient, useSession } from '../../api/session.ts'

interface Preferences {
  readonly channels: Readonly<Record<string, readonly string[]>>
}

const preferencesQuery = queryOptions({
  queryKey: ['account', 'preferences'],
  queryFn: () => get<Preferences>('/console/notices/preferences'),
})

export function Notifications() {
  const t = useMessages('portal').notifications
  const language = useLanguage()
  const { mail } = useSession().platform.features
  // Accounts opt in to incidents, also to see them here.
  const isShown = (kind: string): boolean => mail || kind === 'incident'
  const unread = useQuery(announcementsQuery).data?.counts.notices ?? 0
  const markAllRead = useAction(() => mutateAccount('POST', '/notices/read', {}))
  return (
    <Page
      title={t.title}
      lead={t.lead}
      actions={
        unread > 0 && (
          <Button variant="default" loading={markAllRead.isRunning} onClick={() => void markAllRead.run()}>
            {t.readAll}
          </Button>
        )
      }
    >
      {markAllRead.error && <ErrorMessage error={markAllRead.error} />}
      <PagedList<Notification>
        queryKey={['account', 'notices', language]}
        path="/console/notices"
        refreshMs={10_000}
        empty={<EmptyState title={t.none}>{t.noneLead}</EmptyState>}
      >
        {(notifications) => <NotificationList notifications={notifications} />}
      </PagedList>
      <Section title={mail ? t.preferences : t.subscriptions} lead={mail ? t.preferencesLead : t.noMail}>
        <QueryBoundary options={preferencesQuery}>
          {(preferences) => <EmailPreferences preferences={preferences} isShown={isShown} />}
        </QueryBoundary>
      </Section>
    </Page>
  )
}

interface EmailPreferencesProps {
  readonly preferences: Preferences
  readonly isShown: (kind: string) => boolean
}

function EmailPreferences({ preferences: { channels }, isShown }: EmailPreferencesProps) {
  const t = useMessages('portal').notifications
  const kinds: Readonly<Record<string, string>> = t.kinds
  /** Updates optimistically and rolls back on error. */
  const set = useAction(async (next: Preferences['channels']) => {
    const show = (preferences: Preferences): void =>
      void queryClient.setQueryData(preferencesQuery.queryKey, preferences)
    show({ channels: next })
    try {
      show(
        await mutateAccount<Preferences>('PATCH', '/notices/preferences', {
          channels: changedFields(channels, next),
        }),
      )
    } catch (error) {
      show({ channels })
      throw error
    }
  })
  return (
    <div className="panel stack">
      {set.error && <ErrorMessage error={set.error} />}
      {Object.entries(channels)
        .filter(([kind]) => isShown(kind))
        .map(([kind, names]) => (
          <Checkbox
            key={kind}
            label={kinds[kind] ?? kind}
            checked={names.includes('email')}
            disabled={set.isRunning}
            onChange={(event) => {
              const others = names.filter((name) => name !== 'email')
              const next = event.currentTarget.checked ? [...others, 'email'] : others
              void set.run({ ...channels, [kind]: next })
            }}
          />
        ))}
    </div>
  )
}
