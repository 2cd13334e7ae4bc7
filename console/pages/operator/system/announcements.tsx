/** Announcements to all signed-in users, in each language they were written in. */
import { Button, Textarea, TextInput } from '@mantine/core'
import { getRouteApi } from '@tanstack/react-router'
import { mutateAdmin } from '../../../api/admin-queries.ts'
import type { Announcement } from '../../../api/contract.ts'
import { useLanguage, useMessages } from '../../../locales/messages.ts'
import { useAction } from '../../../components/forms/use-action.ts'
import { localized } from '../../../components/layout/announcement-bar.tsx'
import { confirm } from '../../../components/feedback/confirm-dialog.tsx'
import { Dialog } from '../../../components/forms/dialog.tsx'
import { SelectField, Form, useDraft } from '../../../components/forms/fields.tsx'
import { endOfDay } from '../../../components/forms/field-values.ts'
import { Icon } from '../../../components/layout/icon.tsx'
import { PagedList } from '../../../components/feedback/query-boundary.tsx'
import { EmptyState } from '../../../components/feedback/empty-state.tsx'
import { Page } from '../../../components/layout/page.tsx'
import { StatusLabel, RelativeTime, type Tone } from '../../../components/tables/format-cells.tsx'
import { Table } from '../../../components/tables/table.tsx'
import { showToast } from '../../../components/feedback/toast.tsx'

const route = getRouteApi('/shell/operator/announcements')
const severities = ['info', 'warning', 'critical'] as const
const tones: Readonly<Record<Announcement['severity'], Tone>> = {
  info: 'info',
  warning: 'warning',
  critical: 'danger',
}

export function Announcements() {
  const t = useMessages('operations').announcements
  const shell = useMessages('shell')
  const language = useLanguage()
  const navigate = route.useNavigate()
  const { add } = route.useSearch()
  const close = (): void => void navigate({ search: {} })
  const addButton = (
    <Button leftSection={<Icon name="plus" />} onClick={() => void navigate({ search: { add: 'yes' } })}>
      {t.add}
    </Button>
  )
  const remove = (announcement: Announcement): void =>
    confirm({
      title: t.deleteTitle,
      description: t.deleteEffect(localized(announcement.title, language)),
      confirmLabel: shell.remove,
      onConfirm: () => mutateAdmin('DELETE', `/announcements/${announcement.id}`),
      successMessage: t.deleted,
    })
  return (
    <Page title={t.title} lead={t.lead} actions={addButton}>
      <PagedList<Announcement>
        queryKey={['admin', 'announcements']}
        path="/admin/announcements"
        empty={
          <EmptyState title={t.none}>
            <p>{t.noneLead}</p>
            {addButton}
          </EmptyState>
        }
      >
        {(announcements) => (
          <Table
            label={t.title}
            rows={announcements}
            rowId={({ id }) => id}
            columns={[
              {
                header: t.what,
                primary: true,
                cell: ({ title, text }) => (
                  <>
                    {localized(title, language)}
                    <small>{localized(text, language)}</small>
                  </>
                ),
              },
              {
                header: t.severity,
                cell: ({ severity }) => (
                  <StatusLabel tone={tones[severity]}>{t.severities[severity]}</StatusLabel>
                ),
              },
              { header: t.from, cell: ({ from }) => <RelativeTime at={from} /> },
              { header: t.to, cell: ({ to }) => (to === null ? t.open : <RelativeTime at={to} />) },
              {
                header: t.actions,
                cell: (announcement) => (
                  <button type="button" className="link danger" onClick={() => remove(announcement)}>
                    {shell.remove}
                  </button>
                ),
              },
            ]}
          />
        )}
      </PagedList>
      <Dialog title={t.add} opened={add !== undefined} close={close} size="38rem">
        <AnnouncementForm close={close} />
      </Dialog>
    </Page>
  )
}

function AnnouncementForm({ close }: { readonly close: () => void }) {
  const t = useMessages('operations').announcements
  const { draft, set, field } = useDraft({
    title_en: '',
    text_en: '',
    title_zh: '',
    text_zh: '',
    severity: 'info',
    to: '',
  })
  const publish = useAction(async () => {
    const both = (english: string, chinese: string) => ({
      ...(english.trim() === '' ? {} : { en: english.trim() }),
      ...(chinese.trim() === '' ? {} : { 'zh-CN': chinese.trim() }),
    })
    await mutateAdmin('POST', '/announcements', {
      title: both(draft.title_en, draft.title_zh),
      text: both(draft.text_en, draft.text_zh),
      severity: draft.severity,
      to: endOfDay(draft.to),
    })
    showToast(t.posted)
    close()
  })
  return (
    <Form
      action={publish}
      submitLabel={t.post}
      cancel={close}
      isIncomplete={draft.title_en.trim() === '' && draft.title_zh.trim() === ''}
    >
      <TextInput label={t.titleEn} autoComplete="off" {...field('title_en')} />
      <Textarea
        label={t.textEn}
        rows={2}
        value={draft.text_en}
        onChange={(event) => set('text_en', event.currentTarget.value)}
      />
      <TextInput label={t.titleZh} autoComplete="off" {...field('title_zh')} />
      <Textarea
        label={t.textZh}
        rows={2}
        value={draft.text_zh}
        onChange={(event) => set('text_zh', event.currentTarget.value)}
      />
      <div className="fields">
        <SelectField
          label={t.severity}
          options={severities.map((value) => ({ value, label: t.severities[value] }))}
          {...field('severity')}
        />
        <TextInput label={t.to} description={t.toHint} type="date" {...field('to')} />
      </div>
    </Form>
  )
}
