/** An account's own keys: made in two clicks, shown once, with their spend, caps and what is odd about them. */
import { Button } from '@mantine/core'
import { getRouteApi } from '@tanstack/react-router'
import type { OwnKey } from '../contract.ts'
import { useWords } from '../language.ts'
import { changeOwn, keysQuery, type KeyList } from '../api/account-queries.ts'
import { confirm } from '../parts/confirm.tsx'
import { Dialog } from '../components/forms/fields.tsx'
import { Icon } from '../components/layout/icon.tsx'
import { KeyActs, KeyName, KeyState, TightestCap } from '../parts/key-cells.tsx'
import { NewOwnKey, OwnKeyForm, RotateKey } from '../components/forms/api-key-form.tsx'
import { Asked } from '../components/feedback/query-boundary.tsx'
import { Nothing } from '../components/feedback/empty-state.tsx'
import { Page } from '../components/layout/page.tsx'
import { Money, When } from '../components/tables/format-cells.tsx'
import { Table } from '../components/tables/table.tsx'

const route = getRouteApi('/shell/keys')

export function Keys() {
  const words = useWords('account').keys
  const navigate = route.useNavigate()
  const { add, edit, rotate } = route.useSearch()
  const close = (): void => void navigate({ search: {} })
  const addButton = (
    <Button leftSection={<Icon name="plus" />} onClick={() => void navigate({ search: { add: 'yes' } })}>
      {words.add}
    </Button>
  )
  return (
    <Page title={words.title} lead={words.lead} actions={addButton}>
      <Asked options={keysQuery}>
        {(list) => {
          const edited = list.data.find(({ id }) => id === edit)
          const rotated = list.data.find(({ id }) => id === rotate)
          return (
            <>
              <StaleKeys list={list} />
              {list.data.length === 0 ? (
                <Nothing title={words.none}>
                  <p>{words.noneLead}</p>
                  {addButton}
                </Nothing>
              ) : (
                <KeyTable keys={list.data} />
              )}
              <p className="quiet">{words.count(list.data.length, list.most)}</p>
              <Dialog title={words.add} opened={add !== undefined} close={close} size="40rem">
                <NewOwnKey close={close} />
              </Dialog>
              {edited && (
                <Dialog title={words.editTitle(edited.name)} opened close={close} size="40rem">
                  <OwnKeyForm its={edited} close={close} />
                </Dialog>
              )}
              {rotated && (
                <Dialog title={words.rotateTitle(rotated.name)} opened close={close} size="40rem">
                  <RotateKey its={rotated} close={close} />
                </Dialog>
              )}
            </>
          )
        }}
      </Asked>
    </Page>
  )
}

function StaleKeys({ list }: { readonly list: KeyList }) {
  const words = useWords('account').keys
  const stale = list.data.filter((key) => key.stale)
  if (stale.length === 0) return null
  const clean = (): void =>
    confirm({
      title: words.cleanTitle(stale.length),
      effect: words.cleanEffect(stale.map(({ name }) => name).join(', ')),
      verb: words.clean,
      carryOut: () => changeOwn('POST', '/keys/clean', {}),
      done: words.deleted,
    })
  return (
    <p className="hint warn">
      {words.stale(stale.length, list.stale_after_days)}{' '}
      {list.deleted_after_days !== null && words.staleRule(list.deleted_after_days)}{' '}
      <button type="button" className="link" onClick={clean}>
        {words.clean}
      </button>
    </p>
  )
}

function KeyTable({ keys }: { readonly keys: readonly OwnKey[] }) {
  const words = useWords('account').keys
  return (
    <Table
      label={words.title}
      rows={keys}
      idOf={({ id }) => id}
      columns={[
        {
          head: words.key,
          names: true,
          cell: (key) => <KeyName its={key} />,
        },
        {
          head: words.status,
          cell: (key) => (
            <>
              <KeyState status={key.status} />
              {key.unusual !== null && (
                <small>
                  {words.unusual} <When at={key.unusual.hour} />: <Money amount={key.unusual.cost} round />
                </small>
              )}
            </>
          ),
        },
        { head: words.today, figures: true, cell: ({ spent }) => <Money amount={spent.today} round /> },
        { head: words.month, figures: true, cell: ({ spent }) => <Money amount={spent.month} round /> },
        { head: words.cap, figures: true, cell: (key) => <TightestCap its={key} /> },
        { head: words.expires, wide: true, cell: (key) => <When at={key.expires_at} /> },
        { head: words.lastUsed, cell: (key) => <When at={key.last_used_at} /> },
        { head: words.acts, cell: (key) => <Acts its={key} /> },
      ]}
    />
  )
}

function Acts({ its }: { readonly its: OwnKey }) {
  const words = useWords('account').keys
  const shell = useWords('shell')
  const navigate = route.useNavigate()
  return (
    <span className="acts">
      <button type="button" className="link" onClick={() => void navigate({ search: { edit: its.id } })}>
        {shell.edit}
      </button>
      <button type="button" className="link" onClick={() => void navigate({ search: { rotate: its.id } })}>
        {words.rotate}
      </button>
      <KeyActs its={its} change={changeOwn} />
    </span>
  )
}
