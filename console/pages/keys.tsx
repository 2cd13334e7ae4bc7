/** An account's own keys: made in two clicks, shown once, with their spend, caps and what is odd about them. */
import { Button } from '@mantine/core'
import { getRouteApi } from '@tanstack/react-router'
import type { OwnKey } from '../contract.ts'
import { useWords } from '../language.ts'
import { changeOwn, keysQuery, type KeyList } from '../own.ts'
import { Meter } from '../parts/chart.tsx'
import { confirm } from '../parts/confirm.tsx'
import { Dialog } from '../parts/fields.tsx'
import { Icon } from '../parts/icon.tsx'
import { NewOwnKey, OwnKeyForm, RotateKey } from '../parts/own-key-form.tsx'
import { Asked } from '../parts/loaded.tsx'
import { Nothing } from '../parts/notes.tsx'
import { Page } from '../parts/page.tsx'
import { Money, State, When } from '../parts/shown.tsx'
import { Table } from '../parts/table.tsx'

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
  const shell = useWords('shell')
  return (
    <Table
      label={words.title}
      rows={keys}
      idOf={({ id }) => id}
      columns={[
        {
          head: words.key,
          names: true,
          cell: (key) => (
            <>
              {key.name}
              <small>
                <code>
                  {key.prefix}…{key.last_four}
                </code>
              </small>
            </>
          ),
        },
        {
          head: words.status,
          cell: (key) => (
            <>
              <State tone={key.status === 'active' ? 'good' : 'quiet'}>{shell.status[key.status]}</State>
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

/** The cap that is used up most. */
function TightestCap({ its: { caps, spent } }: { readonly its: OwnKey }) {
  const words = useWords('account').keys
  const all = [
    { name: words.perDay, cap: caps.daily, spent: spent.today },
    { name: words.perMonth, cap: caps.monthly, spent: spent.month },
    { name: words.forLife, cap: caps.total, spent: spent.total },
  ].flatMap(({ name, cap, spent: gone }) =>
    cap === null ? [] : [{ name, cap, share: Number(cap) === 0 ? 1 : Number(gone) / Number(cap) }],
  )
  const tightest = all.toSorted((one, other) => other.share - one.share)[0]
  if (tightest === undefined) return <span className="quiet">{words.noCap}</span>
  return (
    <Meter label={tightest.name} share={tightest.share}>
      <span>
        <Money amount={tightest.cap} /> {tightest.name}
      </span>
    </Meter>
  )
}

function Acts({ its }: { readonly its: OwnKey }) {
  const words = useWords('account').keys
  const shell = useWords('shell')
  const navigate = route.useNavigate()
  const isActive = its.status === 'active'
  const toggle = (): void =>
    confirm({
      title: isActive ? words.disableTitle(its.name) : words.enableTitle(its.name),
      effect: isActive ? words.disableEffect : words.enableEffect,
      verb: isActive ? words.disable : words.enable,
      isHarmless: !isActive,
      carryOut: () => changeOwn('PATCH', `/keys/${its.id}`, { status: isActive ? 'disabled' : 'active' }),
      done: shell.saved,
    })
  const remove = (): void =>
    confirm({
      title: words.deleteTitle(its.name),
      effect: (
        <>
          {words.deleteEffect} {words.month}: <Money amount={its.spent.month} />
        </>
      ),
      verb: shell.remove,
      carryOut: () => changeOwn('DELETE', `/keys/${its.id}`),
      done: words.deleted,
    })
  return (
    <span className="acts">
      <button type="button" className="link" onClick={() => void navigate({ search: { edit: its.id } })}>
        {shell.edit}
      </button>
      <button type="button" className="link" onClick={() => void navigate({ search: { rotate: its.id } })}>
        {words.rotate}
      </button>
      {its.status !== 'expired' && (
        <button type="button" className="link" onClick={toggle}>
          {isActive ? words.disable : words.enable}
        </button>
      )}
      <button type="button" className="link bad" onClick={remove}>
        {shell.remove}
      </button>
    </span>
  )
}
