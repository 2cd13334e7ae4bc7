/** Announcements to all signed-in users, in each language they were written in. */
import { Button, Textarea, TextInput } from '@mantine/core'
import { getRouteApi } from '@tanstack/react-router'
import { mutateAdmin } from '../../../api/admin-queries.ts'
import type { Announcement } from '../../../api/contract.ts'
import { useLanguage, useMessages } from '../../../locales/messages.ts'
import { useAction } from '../../../components/forms/use-action.ts'
import { localized } from '../../../components/layout/announcement-bar.tsx'
import { changedFields, dateText, endOfDay, undoOf } from '../../../components/forms/field-values.ts'
import { confirm } from '../../../components/feedback/confirm-dialog.tsx'
import { Dialog } from '../../../components/forms/dialog.tsx'
import { SelectField, Form, useDraft } from '../../../components/forms/fields.tsx'
import { Icon } from '../../../components/layout/icon.tsx'
import { PagedList } from '../../../components/feedback/query-boundary.tsx'
import { EmptyState } from '../../../components/feedback/empty-state.tsx'
import { Page } from '../../../components/layout/page.tsx'
import { StatusLabel, RelativeTime, type Tone } from '../../../components/tables/format-cells.tsx'
import { RowMenu } from '../../../components/tables/row-menu.tsx'
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
  const { add, edit } = route.useSearch()
  const close = (): void => void navigate({ search: {} })
  const addButton = (
    <Button leftSection={<Icon name="plus" />} onClick={() => void navigate({ search: { add: 'yes' } })}>
      {t.add}
    </Button>
  )
  const remove = ({ id, ...announcement }: Announcement): void =>
    confirm({
      title: t.deleteTitle,
      description: t.deleteEffect(localized(announcement.title, language)),
      confirmLabel: shell.remove,
      onConfirm: () => mutateAdmin('DELETE', `/announcements/${id}`),
      successMessage: t.deleted,
      undo: () => mutateAdmin('POST', '/announcements', announcement),
    })
  const open = ({ id }: Announcement): void => void navigate({ search: { edit: id } })
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
          <>
            <Table
              label={t.title}
              rows={announcements}
              rowId={({ id }) => id}
              onRowClick={open}
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
                  isMenu: true,
                  cell: (announcement) => (
                    <RowMenu
                      name={localized(announcement.title, language)}
                      actions={[
                        { label: shell.edit, onClick: () => open(announcement) },
                        { label: shell.remove, isDestructive: true, onClick: () => remove(announcement) },
                      ]}
                    />
                  ),
                },
              ]}
            />
            {announcements
              .filter(({ id }) => id === edit)
              .map((announcement) => (
                <Dialog key={announcement.id} title={t.editTitle} opened close={close} size="38rem">
                  <AnnouncementForm announcement={announcement} close={close} />
                </Dialog>
              ))}
          </>
        )}
      </PagedList>
      <Dialog title={t.add} opened={add !== undefined} close={close} size="38rem">
        <AnnouncementForm announcement={null} close={close} />
      </Dialog>
    </Page>
  )
}

function draftFrom(announcement: Announcement | null) {
  return {
    title_en: announcement?.title.en ?? '',
    text_en: announcement?.text.en ?? '',
    title_zh: announcement?.title['zh-CN'] ?? '',
    text_zh: announcement?.text['zh-CN'] ?? '',
    severity: announcement?.severity ?? 'info',
    to: dateText(announcement?.to),
  }
}

function bodyFrom(draft: Readonly<Record<keyof ReturnType<typeof draftFrom>, string>>) {
  const both = (english: string, chinese: string) => ({
    ...(english.trim() === '' ? {} : { en: english.trim() }),
    ...(chinese.trim() === '' ? {} : { 'zh-CN': chinese.trim() }),
  })
  return {
    title: both(draft.title_en, draft.title_zh),
    text: both(draft.text_en, draft.text_zh),
    severity: draft.severity,
    to: endOfDay(draft.to),
  }
}

interface AnnouncementFormProps {
  /** null creates a new one. */
  readonly announcement: Announcement | null
  readonly close: () => void
}

function AnnouncementForm({ announcement, close }: AnnouncementFormProps) {
  const t = useMessages('operations').announcements
  const shell = useMessages('shell')
  const { draft, initialDraft, set, field } = useDraft(draftFrom(announcement))
  const publish = useAction(async () => {
    const body = bodyFrom(draft)
    if (announcement === null) {
      await mutateAdmin('POST', '/announcements', body)
      showToast(t.posted)
    } else {
      const before = bodyFrom(initialDraft)
      const update = (changes: object) => mutateAdmin('PATCH', `/announcements/${announcement.id}`, changes)
      const changes = changedFields(before, body)
      await update(changes)
      showToast(shell.saved, { undo: undoOf(changes, () => update(changedFields(body, before))) })
    }
    close()
  })
  return (
    <Form
      action={publish}
      submitLabel={announcement === null ? t.post : shell.save}
      cancel={close}
      isIncomplete={draft.title_en.trim() === '' && draft.title_zh.trim() === ''}
    >
      <p className="muted">{t.titleRequired}</p>
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
