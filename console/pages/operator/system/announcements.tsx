/** What everybody who signs in is told, in each language that it was written in. */
import { Button, Textarea, TextInput } from '@mantine/core'
import { getRouteApi } from '@tanstack/react-router'
import { change } from '../../../api/admin-queries.ts'
import type { Announcement } from '../../../contract.ts'
import { useLanguage, useWords } from '../../../language.ts'
import { useAction } from '../../../components/forms/use-action.ts'
import { inLanguage } from '../../../components/layout/announcement-bar.tsx'
import { confirm } from '../../../parts/confirm.tsx'
import { Choice, Dialog, Form, useDraft } from '../../../components/forms/fields.tsx'
import { Icon } from '../../../components/layout/icon.tsx'
import { Paged } from '../../../components/feedback/query-boundary.tsx'
import { Nothing } from '../../../components/feedback/empty-state.tsx'
import { Page } from '../../../components/layout/page.tsx'
import { State, When, type Tone } from '../../../components/tables/format-cells.tsx'
import { Table } from '../../../components/tables/table.tsx'
import { say } from '../../../components/feedback/toast.tsx'

const route = getRouteApi('/shell/operator/announcements')
const severities = ['info', 'warning', 'critical'] as const
const tones: Readonly<Record<Announcement['severity'], Tone>> = {
  info: 'accent',
  warning: 'warn',
  critical: 'bad',
}

export function Announcements() {
  const words = useWords('running').announcements
  const shell = useWords('shell')
  const language = useLanguage()
  const navigate = route.useNavigate()
  const { add } = route.useSearch()
  const close = (): void => void navigate({ search: {} })
  const addButton = (
    <Button leftSection={<Icon name="plus" />} onClick={() => void navigate({ search: { add: 'yes' } })}>
      {words.add}
    </Button>
  )
  const remove = (announcement: Announcement): void =>
    confirm({
      title: words.deleteTitle,
      effect: words.deleteEffect(inLanguage(announcement.title, language)),
      verb: shell.remove,
      carryOut: () => change('DELETE', `/announcements/${announcement.id}`),
      done: words.deleted,
    })
  return (
    <Page title={words.title} lead={words.lead} actions={addButton}>
      <Paged<Announcement>
        name={['admin', 'announcements']}
        path="/admin/announcements"
        empty={
          <Nothing title={words.none}>
            <p>{words.noneLead}</p>
            {addButton}
          </Nothing>
        }
      >
        {(announcements) => (
          <Table
            label={words.title}
            rows={announcements}
            idOf={({ id }) => id}
            columns={[
              {
                head: words.what,
                names: true,
                cell: ({ title, text }) => (
                  <>
                    {inLanguage(title, language)}
                    <small>{inLanguage(text, language)}</small>
                  </>
                ),
              },
              {
                head: words.severity,
                cell: ({ severity }) => <State tone={tones[severity]}>{words.severities[severity]}</State>,
              },
              { head: words.from, cell: ({ from }) => <When at={from} /> },
              { head: words.to, cell: ({ to }) => (to === null ? words.open : <When at={to} />) },
              {
                head: words.acts,
                cell: (announcement) => (
                  <button type="button" className="link bad" onClick={() => remove(announcement)}>
                    {shell.remove}
                  </button>
                ),
              },
            ]}
          />
        )}
      </Paged>
      <Dialog title={words.add} opened={add !== undefined} close={close} size="38rem">
        <AnnouncementForm close={close} />
      </Dialog>
    </Page>
  )
}

function AnnouncementForm({ close }: { readonly close: () => void }) {
  const words = useWords('running').announcements
  const { draft, set, field } = useDraft({
    title_en: '',
    text_en: '',
    title_zh: '',
    text_zh: '',
    severity: 'info',
    to: '',
  })
  const post = useAction(async () => {
    const both = (english: string, chinese: string) => ({
      ...(english.trim() === '' ? {} : { en: english.trim() }),
      ...(chinese.trim() === '' ? {} : { 'zh-CN': chinese.trim() }),
    })
    await change('POST', '/announcements', {
      title: both(draft.title_en, draft.title_zh),
      text: both(draft.text_en, draft.text_zh),
      severity: draft.severity,
      to: draft.to === '' ? null : new Date(`${draft.to}T23:59:59`).toISOString(),
    })
    say(words.posted)
    close()
  })
  return (
    <Form
      action={post}
      verb={words.post}
      cancel={close}
      isIncomplete={draft.title_en.trim() === '' && draft.title_zh.trim() === ''}
    >
      <TextInput label={words.titleEn} autoComplete="off" {...field('title_en')} />
      <Textarea
        label={words.textEn}
        rows={2}
        value={draft.text_en}
        onChange={(event) => set('text_en', event.currentTarget.value)}
      />
      <TextInput label={words.titleZh} autoComplete="off" {...field('title_zh')} />
      <Textarea
        label={words.textZh}
        rows={2}
        value={draft.text_zh}
        onChange={(event) => set('text_zh', event.currentTarget.value)}
      />
      <div className="fields">
        <Choice
          label={words.severity}
          choices={severities.map((value) => ({ value, label: words.severities[value] }))}
          {...field('severity')}
        />
        <TextInput label={words.to} description={words.toHint} type="date" {...field('to')} />
      </div>
    </Form>
  )
}
