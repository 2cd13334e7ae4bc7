/** Copies of everything the relay remembers: made, checked, downloaded, deleted; and how one is put back. */
import { Button } from '@mantine/core'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { change } from '../../../api/admin-queries.ts'
import { get } from '../../../api/client.ts'
import type { Backup, BackupSchedule } from '../../../contract.ts'
import { useWords, type Words } from '../../../language.ts'
import { useAction } from '../../../components/forms/use-action.ts'
import { Code } from '../../../parts/code.tsx'
import { confirm } from '../../../parts/confirm.tsx'
import { bytesText, numberText, percentText } from '../../../components/format.ts'
import { Loaded } from '../../../components/feedback/query-boundary.tsx'
import { Nothing, Refused } from '../../../components/feedback/empty-state.tsx'
import { Facts, Page, Section } from '../../../components/layout/page.tsx'
import { Copyable, exactTime, State, When, type Tone } from '../../../components/tables/format-cells.tsx'
import { Table } from '../../../components/tables/table.tsx'
import { say } from '../../../components/feedback/toast.tsx'

interface Shelf {
  readonly data: readonly Backup[]
  readonly schedule: BackupSchedule
}

const busyMs = 500
const idleMs = 15_000

function isUnderWay({ progress }: Backup): boolean {
  return progress !== null
}

const backupsQuery = queryOptions({
  queryKey: ['admin', 'backups'],
  queryFn: () => get<Shelf>('/admin/backups'),
  refetchInterval: ({ state }) => (state.data?.data.some(isUnderWay) === true ? busyMs : idleMs),
})

export function Backups() {
  const words = useWords('upkeep').backups
  const query = useQuery(backupsQuery)
  const make = useAction(async () => {
    await change('POST', '/backups')
    say(words.made)
  })
  const isBusy = query.data?.data.some(isUnderWay) === true
  const makeButton = (
    <Button loading={make.isRunning} disabled={isBusy} onClick={() => void make.run()}>
      {words.make}
    </Button>
  )
  return (
    <Page title={words.title} lead={words.lead} actions={makeButton}>
      {make.error && <Refused error={make.error} />}
      <Loaded query={query}>
        {({ data, schedule }) => (
          <>
            {data.length === 0 ? (
              <Nothing title={words.none}>{words.noneLead}</Nothing>
            ) : (
              <BackupTable backups={data} isBusy={isBusy} />
            )}
            <Schedule schedule={schedule} />
            <PutBack backup={data.find(({ state }) => state === 'whole')} folder={schedule.folder} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

const tones: Readonly<Record<Backup['state'], Tone>> = {
  making: 'accent',
  whole: 'good',
  checking: 'accent',
  damaged: 'bad',
  failed: 'bad',
}

function BackupState({ backup: { state, progress, problem } }: { readonly backup: Backup }) {
  const words = useWords('upkeep').backups
  return (
    <span className="lines">
      <State tone={tones[state]}>{words.states[state]}</State>
      {progress !== null && (
        <small>
          {words.steps[progress.step]}
          {progress.percent !== null && ` ${percentText(progress.percent / 100)}`}
        </small>
      )}
      {problem !== null && <small lang="en">{problem}</small>}
    </span>
  )
}

function byText(by: string | null, words: Words<'upkeep'>['backups']): string {
  if (by === 'schedule') return words.bySchedule
  if (by === 'command-line') return words.byCommand
  return by?.replace(/^operator:/, '') ?? '–'
}

function BackupTable({ backups, isBusy }: { readonly backups: readonly Backup[]; readonly isBusy: boolean }) {
  const words = useWords('upkeep').backups
  const shell = useWords('shell')
  const check = useAction(({ id }: Backup) => change('POST', `/backups/${id}/check`))
  const remove = ({ id, made_at: madeAt, state }: Backup): void =>
    confirm({
      title: words.deleteTitle,
      effect: state === 'failed' ? words.forgetEffect : words.deleteEffect(exactTime(madeAt)),
      verb: shell.remove,
      carryOut: () => change('DELETE', `/backups/${id}`),
      done: words.deleted,
    })
  return (
    <>
      {check.error && <Refused error={check.error} />}
      <Table
        label={words.title}
        rows={backups}
        idOf={({ id }) => id}
        columns={[
          {
            head: words.when,
            names: true,
            cell: ({ id, made_at: madeAt }) => (
              <>
                <When at={madeAt} />
                <small>{id}</small>
              </>
            ),
          },
          { head: words.state, cell: (backup) => <BackupState backup={backup} /> },
          {
            head: words.size,
            figures: true,
            cell: ({ bytes }) => (bytes === null ? '–' : bytesText(bytes)),
          },
          {
            head: words.entries,
            figures: true,
            wide: true,
            cell: ({ entries }) => (entries === null ? '–' : numberText(entries)),
          },
          { head: words.by, wide: true, cell: ({ by }) => byText(by, words) },
          { head: words.checked, cell: ({ checked_at: checkedAt }) => <When at={checkedAt} /> },
          {
            head: words.acts,
            cell: (backup) => {
              if (isUnderWay(backup)) return '–'
              const isThere = backup.state !== 'failed'
              return (
                <span className="acts">
                  {isThere && (
                    <button
                      type="button"
                      className="link"
                      disabled={isBusy}
                      onClick={() => void check.run(backup)}
                    >
                      {words.check}
                    </button>
                  )}
                  {backup.state === 'whole' && (
                    <a href={`/api/admin/backups/${encodeURIComponent(backup.id)}/download`} download>
                      {words.download}
                    </a>
                  )}
                  <button type="button" className="link bad" onClick={() => remove(backup)}>
                    {shell.remove}
                  </button>
                </span>
              )
            },
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

function everyText(everyMs: number, words: Words<'upkeep'>['backups']): string {
  const [unit, unitMs] = units.find(([, ms]) => everyMs % ms === 0) ?? (['seconds', 1000] as const)
  return words.every(words[unit](Math.round(everyMs / unitMs)))
}

function Schedule({ schedule }: { readonly schedule: BackupSchedule }) {
  const words = useWords('upkeep').backups
  return (
    <Section title={words.schedule} lead={words.scheduleHint('BACKUP_EVERY', 'BACKUPS_KEPT')}>
      <Facts
        facts={[
          [words.interval, schedule.every_ms === null ? words.never : everyText(schedule.every_ms, words)],
          [words.kept, numberText(schedule.kept)],
          [words.folder, <Copyable key="folder" text={schedule.folder} />],
        ]}
      />
    </Section>
  )
}

function PutBack({ backup, folder }: { readonly backup: Backup | undefined; readonly folder: string }) {
  const words = useWords('upkeep').backups
  if (backup === undefined) return null
  return (
    <Section title={words.restore} lead={words.restoreLead}>
      <Code text={`npx sluice restore --force ${folder}/${backup.id}`} />
      <p className="hint">
        {backup.sealed_by === 'ENCRYPTION_KEY'
          ? words.keyOfYours('ENCRYPTION_KEY')
          : words.keyApart('sealing.key')}
      </p>
    </Section>
  )
}
