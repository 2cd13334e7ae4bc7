/** Backups: create, check, download, delete, and how to restore one. */
import { Button } from '@mantine/core'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { mutateAdmin } from '../../../api/admin-queries.ts'
import { get } from '../../../api/client.ts'
import type { Backup, BackupSchedule } from '../../../api/contract.ts'
import { useMessages, type Messages } from '../../../locales/messages.ts'
import { ConfirmIdentity } from '../../../components/forms/confirm-identity.tsx'
import { useAction, type Action } from '../../../components/forms/use-action.ts'
import { CodeBlock } from '../../../components/code/code-block.tsx'
import { confirm } from '../../../components/feedback/confirm-dialog.tsx'
import { formatBytes, formatNumber, formatPercent } from '../../../components/format.ts'
import { QueryResult } from '../../../components/feedback/query-boundary.tsx'
import { EmptyState, ErrorMessage } from '../../../components/feedback/empty-state.tsx'
import { DescriptionList, Page, Section } from '../../../components/layout/page.tsx'
import {
  CopyButton,
  formatExactTime,
  StatusLabel,
  RelativeTime,
  type Tone,
} from '../../../components/tables/format-cells.tsx'
import { RowMenu } from '../../../components/tables/row-menu.tsx'
import { Table } from '../../../components/tables/table.tsx'
import { showToast } from '../../../components/feedback/toast.tsx'

interface BackupList {
  readonly data: readonly Backup[]
  readonly schedule: BackupSchedule
}

const busyMs = 500
const idleMs = 15_000

function isInProgress({ progress }: Backup): boolean {
  return progress !== null
}

const backupsQuery = queryOptions({
  queryKey: ['admin', 'backups'],
  queryFn: () => get<BackupList>('/admin/backups'),
  refetchInterval: ({ state }) => (state.data?.data.some(isInProgress) === true ? busyMs : idleMs),
})

interface ActionErrorProps {
  readonly action: Pick<Action<never>, 'error' | 'reset'>
  readonly retry: () => void
}

/** The error of an action, or what proves again who the user is. */
function ActionError({ action: { error, reset }, retry }: ActionErrorProps) {
  if (error === null) return null
  if (error.code === 'password_required') return <ConfirmIdentity onConfirmed={retry} cancel={reset} />
  return <ErrorMessage error={error} />
}

export function Backups() {
  const t = useMessages('maintenance').backups
  const query = useQuery(backupsQuery)
  const createBackup = useAction(async () => {
    await mutateAdmin('POST', '/backups')
    showToast(t.started)
  })
  const isBusy = query.data?.data.some(isInProgress) === true
  const createButton = (
    <Button loading={createBackup.isRunning} disabled={isBusy} onClick={() => void createBackup.run()}>
      {t.create}
    </Button>
  )
  return (
    <Page title={t.title} lead={t.lead} actions={createButton}>
      <ActionError action={createBackup} retry={() => void createBackup.run()} />
      <QueryResult query={query}>
        {({ data, schedule }) => (
          <>
            {data.length === 0 ? (
              <EmptyState title={t.none}>{t.noneLead}</EmptyState>
            ) : (
              <BackupTable backups={data} isBusy={isBusy} />
            )}
            <ScheduleSection schedule={schedule} />
            <RestoreInstructions
              backup={data.find(({ state }) => state === 'whole')}
              folder={schedule.folder}
            />
          </>
        )}
      </QueryResult>
    </Page>
  )
}

const tones: Readonly<Record<Backup['state'], Tone>> = {
  making: 'info',
  whole: 'success',
  checking: 'info',
  damaged: 'danger',
  failed: 'danger',
}

function BackupStatus({ backup: { state, progress, problem } }: { readonly backup: Backup }) {
  const t = useMessages('maintenance').backups
  return (
    <span className="stacked-lines">
      <StatusLabel tone={tones[state]}>{t.states[state]}</StatusLabel>
      {progress !== null && (
        <small>
          {t.steps[progress.step]}
          {progress.percent !== null && ` ${formatPercent(progress.percent / 100)}`}
        </small>
      )}
      {problem !== null && <small lang="en">{problem}</small>}
    </span>
  )
}

function formatMaker(by: string | null, t: Messages<'maintenance'>['backups']): string {
  if (by === 'schedule') return t.bySchedule
  if (by === 'command-line') return t.byCommand
  return by?.replace(/^operator:/, '') ?? '–'
}

function BackupTable({ backups, isBusy }: { readonly backups: readonly Backup[]; readonly isBusy: boolean }) {
  const t = useMessages('maintenance').backups
  const shell = useMessages('shell')
  const check = useAction(({ id }: Backup) => mutateAdmin('POST', `/backups/${id}/check`))
  const [downloaded, setDownloaded] = useState<Backup | null>(null)
  const download = useAction(async (backup: Backup) => {
    setDownloaded(backup)
    await get('/console/me/confirmation')
    window.location.assign(`/api/admin/backups/${encodeURIComponent(backup.id)}/download`)
  })
  const remove = (backup: Backup): void => {
    const { id, made_at: madeAt, state, bytes } = backup
    const verified = backups.filter((other) => other !== backup && other.state === 'whole').length
    const effect = t.deleteEffect(formatExactTime(madeAt), bytes === null ? null : formatBytes(bytes))
    confirm({
      title: t.deleteTitle,
      description:
        state === 'failed' ? t.forgetEffect : [effect, t.otherBackups(verified)].join(shell.sentenceGap),
      confirmLabel: shell.remove,
      onConfirm: () => mutateAdmin('DELETE', `/backups/${id}`),
      successMessage: t.deleted,
    })
  }
  return (
    <>
      {check.error && <ErrorMessage error={check.error} />}
      <ActionError action={download} retry={() => downloaded && void download.run(downloaded)} />
      <Table
        label={t.title}
        rows={backups}
        rowId={({ id }) => id}
        columns={[
          {
            header: t.createdAt,
            primary: true,
            cell: ({ id, made_at: madeAt }) => (
              <>
                <RelativeTime at={madeAt} />
                <small>{id}</small>
              </>
            ),
          },
          { header: t.state, cell: (backup) => <BackupStatus backup={backup} /> },
          {
            header: t.size,
            numeric: true,
            cell: ({ bytes }) => (bytes === null ? '–' : formatBytes(bytes)),
          },
          {
            header: t.entries,
            numeric: true,
            wideOnly: true,
            cell: ({ entries }) => (entries === null ? '–' : formatNumber(entries)),
          },
          { header: t.source, wideOnly: true, cell: ({ by }) => formatMaker(by, t) },
          { header: t.checked, cell: ({ checked_at: checkedAt }) => <RelativeTime at={checkedAt} /> },
          {
            header: t.actions,
            isMenu: true,
            cell: (backup) =>
              !isInProgress(backup) && (
                <RowMenu
                  name={formatExactTime(backup.made_at)}
                  actions={[
                    backup.state !== 'failed' && {
                      label: t.check,
                      isDisabled: isBusy,
                      onClick: () => void check.run(backup),
                    },
                    backup.state === 'whole' && {
                      label: t.download,
                      onClick: () => void download.run(backup),
                    },
                    { label: shell.remove, isDestructive: true, onClick: () => remove(backup) },
                  ]}
                />
              ),
          },
        ]}
      />
    </>
  )
}

const units = [
  ['days', 86_400_000],
  ['hours', 3_600_000],
  ['minutes', 60_000],
  ['seconds', 1000],
] as const

function formatInterval(everyMs: number, t: Messages<'maintenance'>['backups']): string {
  const [unit, unitMs] = units.find(([, ms]) => everyMs % ms === 0) ?? (['seconds', 1000] as const)
  return t.every(t[unit](Math.round(everyMs / unitMs)))
}

function ScheduleSection({ schedule }: { readonly schedule: BackupSchedule }) {
  const t = useMessages('maintenance').backups
  return (
    <Section title={t.schedule} lead={t.scheduleHint('BACKUP_EVERY', 'BACKUPS_KEPT')}>
      <DescriptionList
        items={[
          [t.interval, schedule.every_ms === null ? t.never : formatInterval(schedule.every_ms, t)],
          [t.retention, formatNumber(schedule.kept)],
          [
            t.folder,
            <span key="folder" className="full-path">
              <CopyButton text={schedule.folder} />
            </span>,
          ],
        ]}
      />
    </Section>
  )
}

function RestoreInstructions({
  backup,
  folder,
}: {
  readonly backup: Backup | undefined
  readonly folder: string
}) {
  const t = useMessages('maintenance').backups
  if (backup === undefined) return null
  return (
    <Section title={t.restore} lead={t.restoreLead}>
      <CodeBlock text={`npx sluice restore --force ${folder}/${backup.id}`} />
      <p className="callout">
        {backup.sealed_by === 'ENCRYPTION_KEY'
          ? t.settingKey('ENCRYPTION_KEY')
          : t.separateKey('sealing.key')}
      </p>
    </Section>
  )
}
