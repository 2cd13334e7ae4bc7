/** The upstreams: add and test, enable and disable, delete. */
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { mutateAdmin, modelsQuery, upstreamsQuery } from '../../../api/admin-queries.ts'
import type { Upstream } from '../../../api/contract.ts'
import { useMessages } from '../../../locales/messages.ts'
import { DeleteUpstreamEffect, DisableUpstreamEffect } from '../../../components/feedback/change-effects.tsx'
import { confirm } from '../../../components/feedback/confirm-dialog.tsx'
import { Dialog } from '../../../components/forms/dialog.tsx'
import { Icon } from '../../../components/layout/icon.tsx'
import { QueryBoundary } from '../../../components/feedback/query-boundary.tsx'
import { EmptyState } from '../../../components/feedback/empty-state.tsx'
import { Page } from '../../../components/layout/page.tsx'
import { CopyButton, RelativeTime } from '../../../components/tables/format-cells.tsx'
import { ProviderTitle } from '../../../components/tables/provider-title.tsx'
import { RowMenu } from '../../../components/tables/row-menu.tsx'
import { Table, type Column } from '../../../components/tables/table.tsx'
import { actWithToast } from '../../../components/feedback/toast.tsx'
import { UpstreamForm, UpstreamTest } from '../../../components/forms/upstream-form.tsx'
import { UpstreamStatus } from '../../../components/tables/upstream-status.tsx'

const route = getRouteApi('/shell/operator/upstreams')

export function Upstreams() {
  const t = useMessages('catalog').upstreams
  const navigate = route.useNavigate()
  const { add, edit, test } = route.useSearch()
  const close = (): void => void navigate({ search: {} })
  const addButton = (
    <Button leftSection={<Icon name="plus" />} onClick={() => void navigate({ search: { add: 'yes' } })}>
      {t.add}
    </Button>
  )
  return (
    <Page title={t.title} lead={t.lead} csv={{ path: '/admin/upstreams' }} actions={addButton}>
      <QueryBoundary options={upstreamsQuery}>
        {({ data }) => {
          const edited = data.find(({ id }) => id === edit)
          const tested = data.find(({ id }) => id === test)
          return (
            <>
              {data.length === 0 ? (
                <EmptyState title={t.none}>
                  <p>{t.noneLead}</p>
                  {addButton}
                </EmptyState>
              ) : (
                <UpstreamTable upstreams={data} />
              )}
              <Dialog title={t.addTitle} opened={add !== undefined} close={close} size="38rem">
                <UpstreamForm upstream={null} close={close} />
              </Dialog>
              {edited && (
                <Dialog title={t.editTitle(edited.name)} opened close={close} size="38rem">
                  <UpstreamForm upstream={edited} close={close} />
                </Dialog>
              )}
              {tested && (
                <Dialog title={t.testTitle(tested.name)} opened close={close}>
                  <UpstreamTest upstream={tested} close={close} />
                </Dialog>
              )}
            </>
          )
        }}
      </QueryBoundary>
    </Page>
  )
}

function UpstreamTable({ upstreams }: { readonly upstreams: readonly Upstream[] }) {
  const t = useMessages('catalog').upstreams
  const shell = useMessages('shell')
  const models = useQuery(modelsQuery).data?.data ?? []
  const navigate = route.useNavigate()
  const setEnabled = (upstream: Upstream, enabled: boolean) => () =>
    mutateAdmin('PATCH', `/upstreams/${upstream.id}`, { enabled })
  const enable = (upstream: Upstream): Promise<void> =>
    actWithToast(setEnabled(upstream, true), t.enabled, { undo: setEnabled(upstream, false) })
  const confirmChange = (upstream: Upstream, change: 'disable' | 'delete'): void => {
    if (change === 'disable') {
      confirm({
        title: t.disableTitle(upstream.name),
        description: <DisableUpstreamEffect upstream={upstream} />,
        confirmLabel: t.disable,
        onConfirm: setEnabled(upstream, false),
        successMessage: t.disabled,
        undo: setEnabled(upstream, true),
      })
    } else {
      confirm({
        title: t.deleteTitle(upstream.name),
        description: <DeleteUpstreamEffect upstream={upstream} />,
        confirmLabel: shell.remove,
        onConfirm: () => mutateAdmin('DELETE', `/upstreams/${upstream.id}`),
        successMessage: t.deleted,
      })
    }
  }
  const columns: Column<Upstream>[] = [
    {
      header: t.name,
      primary: true,
      cell: (upstream) => (
        <>
          <Link to="/operator/upstreams/$id" params={{ id: upstream.id }}>
            {upstream.name}
          </Link>
          <small>
            <ProviderTitle provider={upstream.provider} />
          </small>
        </>
      ),
    },
    {
      header: t.state,
      cell: (upstream) => <UpstreamStatus upstream={upstream} />,
    },
    {
      header: t.baseUrl,
      wideOnly: true,
      cell: (upstream) => <CopyButton text={upstream.base_url}>{upstream.base_url}</CopyButton>,
    },
    { header: t.priority, numeric: true, cell: ({ priority }) => priority },
    { header: t.weight, numeric: true, wideOnly: true, cell: ({ weight }) => weight },
    {
      header: t.models,
      numeric: true,
      cell: ({ id }) => models.filter(({ routes }) => routes.some(({ upstream }) => upstream === id)).length,
    },
    { header: t.changed, wideOnly: true, cell: (upstream) => <RelativeTime at={upstream.updated_at} /> },
    {
      header: t.actions,
      isMenu: true,
      cell: (upstream) => (
        <RowMenu
          name={upstream.name}
          actions={[
            { label: t.test, onClick: () => void navigate({ search: { test: upstream.id } }) },
            { label: shell.edit, onClick: () => void navigate({ search: { edit: upstream.id } }) },
            upstream.enabled
              ? { label: t.disable, onClick: () => confirmChange(upstream, 'disable') }
              : { label: t.enable, onClick: () => void enable(upstream) },
            {
              label: shell.remove,
              isDestructive: true,
              onClick: () => confirmChange(upstream, 'delete'),
            },
          ]}
        />
      ),
    },
  ]
  return (
    <Table
      label={t.title}
      columns={columns}
      rows={upstreams}
      rowId={({ id }) => id}
      rowHref={({ id }) => `/operator/upstreams/${id}`}
    />
  )
}
