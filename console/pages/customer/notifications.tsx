/** What an account has to know: caps, balances, incidents, unusual use; and where else it is told. */
import { Button, Checkbox } from '@mantine/core'
import { queryOptions } from '@tanstack/react-query'
import { get } from '../../api/client.ts'
import type { Notice } from '../../contract.ts'
import { useLanguage, useWords } from '../../language.ts'
import { changeOwn } from '../../api/account-queries.ts'
import { useAction } from '../../components/forms/use-action.ts'
import { Asked, Paged } from '../../components/feedback/query-boundary.tsx'
import { Nothing, Refused } from '../../components/feedback/empty-state.tsx'
import { NoticeList } from '../../parts/notice-list.tsx'
import { Page, Section } from '../../components/layout/page.tsx'
import { queries } from '../../api/session.ts'

interface Preferences {
  readonly channels: Readonly<Record<string, readonly string[]>>
}

const preferencesQuery = queryOptions({
  queryKey: ['own', 'preferences'],
  queryFn: () => get<Preferences>('/console/notices/preferences'),
})

export function Notices() {
  const words = useWords('customer').notices
  const language = useLanguage()
  const read = useAction(() => changeOwn('POST', '/notices/read', {}))
  return (
    <Page
      title={words.title}
      lead={words.lead}
      actions={
        <Button variant="default" loading={read.isRunning} onClick={() => void read.run()}>
          {words.readAll}
        </Button>
      }
    >
      {read.error && <Refused error={read.error} />}
      <Paged<Notice>
        name={['own', 'notices', language]}
        path="/console/notices"
        freshMs={10_000}
        empty={<Nothing title={words.none}>{words.noneLead}</Nothing>}
      >
        {(notices) => <NoticeList notices={notices} />}
      </Paged>
      <Section title={words.preferences} lead={words.preferencesLead}>
        <Asked options={preferencesQuery}>{(preferences) => <Choices preferences={preferences} />}</Asked>
      </Section>
    </Page>
  )
}

function Choices({ preferences: { channels } }: { readonly preferences: Preferences }) {
  const words = useWords('customer').notices
  const kinds: Readonly<Record<string, string>> = words.kinds
  /** The mark follows the click, and goes back where the server refuses. */
  const set = useAction(async (next: Preferences['channels']) => {
    const show = (shown: Preferences): void => void queries.setQueryData(preferencesQuery.queryKey, shown)
    show({ channels: next })
    try {
      show(await changeOwn<Preferences>('PATCH', '/notices/preferences', { channels: next }))
    } catch (error) {
      show({ channels })
      throw error
    }
  })
  return (
    <div className="panel stack">
      {set.error && <Refused error={set.error} />}
      {Object.entries(channels).map(([kind, names]) => (
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
