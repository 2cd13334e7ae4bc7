/** All settings with their current values. They come from the environment, so this page is read-only. */
import { TextInput } from '@mantine/core'
import { queryOptions } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { get } from '../../../api/client.ts'
import { useLanguage, useMessages } from '../../../locales/messages.ts'
import { settingDefaults, settingDocs } from '../../../locales/zh-cn/setting-texts.ts'
import { QueryBoundary } from '../../../components/feedback/query-boundary.tsx'
import { EmptyState } from '../../../components/feedback/empty-state.tsx'
import { Page } from '../../../components/layout/page.tsx'
import { CopyButton } from '../../../components/tables/format-cells.tsx'
import { Table } from '../../../components/tables/table.tsx'

const route = getRouteApi('/shell/operator/settings')

interface Setting {
  readonly env: string
  readonly group: string
  readonly doc: string
  readonly allowed: string
  readonly standard: string
  readonly value: string | null
  readonly secret: boolean
}

const settingsQuery = queryOptions({
  queryKey: ['admin', 'settings'],
  queryFn: () => get<{ data: Setting[] }>('/admin/settings'),
})

/** The description of a setting in the user's language. */
function useLocalized(): (setting: Setting) => Setting {
  const isChinese = useLanguage() === 'zh-CN'
  return (setting) => (isChinese ? { ...setting, doc: settingDocs[setting.env] ?? setting.doc } : setting)
}

/** A text with its parts in backticks as code. */
function TextWithCode({ text }: { readonly text: string }) {
  return text.split('`').map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))
}

/** A default is a value, or a text with values in backticks. */
function DefaultValue({ standard }: Pick<Setting, 'standard'>) {
  const isChinese = useLanguage() === 'zh-CN'
  const translated = settingDefaults[standard]
  if (translated === undefined && !standard.includes('`')) return <code>{standard}</code>
  return <TextWithCode text={isChinese ? (translated ?? standard) : standard} />
}

export function Settings() {
  const t = useMessages('operations').settings
  const navigate = route.useNavigate()
  const localized = useLocalized()
  const { q = '' } = route.useSearch()
  const query = q.trim().toLowerCase()
  return (
    <Page title={t.title} lead={t.lead}>
      <div className="filters">
        <TextInput
          label={t.filter}
          value={q}
          onChange={(event) => void navigate({ search: { q: event.currentTarget.value }, replace: true })}
        />
      </div>
      <QueryBoundary options={settingsQuery}>
        {({ data }) => {
          const matching = data
            .map(localized)
            .filter(({ env, doc }) => `${env} ${doc}`.toLowerCase().includes(query))
          return matching.length === 0 ? (
            <EmptyState title={t.none} />
          ) : (
            <Table
              label={t.title}
              rows={matching}
              rowId={({ env }) => env}
              columns={[
                {
                  header: t.name,
                  primary: true,
                  cell: ({ env, doc }) => (
                    <>
                      <CopyButton text={env} />
                      <small>
                        <TextWithCode text={doc} />
                      </small>
                    </>
                  ),
                },
                {
                  header: t.value,
                  cell: ({ value }) => (value === null ? t.notSet : <code>{value}</code>),
                },
                {
                  header: t.defaultValue,
                  wideOnly: true,
                  cell: ({ standard }) => <DefaultValue standard={standard} />,
                },
              ]}
            />
          )
        }}
      </QueryBoundary>
    </Page>
  )
}
