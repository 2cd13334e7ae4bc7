/** The table cells of an API key, for its owner and for operators: name, status, cap usage, actions. */
import type { ApiKey } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { Meter } from '../charts/chart.tsx'
import { AffectedKey, type UsagePath } from '../feedback/affected-usage.tsx'
import { confirm } from '../feedback/confirm-dialog.tsx'
import { Money, StatusLabel } from './format-cells.tsx'
import { RowMenu, type RowAction } from './row-menu.tsx'

export function ApiKeyName({ apiKey }: { readonly apiKey: Pick<ApiKey, 'name' | 'prefix' | 'last_four'> }) {
  return (
    <>
      {apiKey.name}
      <small>
        <code>
          {apiKey.prefix}…{apiKey.last_four}
        </code>
      </small>
    </>
  )
}

export function ApiKeyStatus({ status }: { readonly status: ApiKey['status'] }) {
  const t = useMessages('shell').status
  return <StatusLabel tone={status === 'active' ? 'success' : 'neutral'}>{t[status]}</StatusLabel>
}

/** Shows the cap that is closest to its limit. */
export function CapUsage({ apiKey: { caps, spent } }: { readonly apiKey: Pick<ApiKey, 'caps' | 'spent'> }) {
  const t = useMessages('account').keys
  const all = [
    { name: t.perDay, cap: caps.daily, spent: spent.today },
    { name: t.perMonth, cap: caps.monthly, spent: spent.month },
    { name: t.lifetime, cap: caps.total, spent: spent.total },
  ].flatMap(({ name, cap, spent: used }) =>
    cap === null ? [] : [{ name, cap, share: Number(cap) === 0 ? 1 : Number(used) / Number(cap) }],
  )
  const tightest = all.toSorted((one, other) => other.share - one.share)[0]
  if (tightest === undefined) return <span className="muted">{t.noCap}</span>
  return (
    <Meter label={tightest.name} share={tightest.share}>
      <span>
        {tightest.name} <Money amount={tightest.cap} />
      </span>
    </Meter>
  )
}

export interface ApiKeyMenuProps {
  readonly apiKey: Pick<ApiKey, 'id' | 'name' | 'status' | 'spent'>
  /** Shown before those that disable and delete. */
  readonly actions: readonly RowAction[]
  /** Names the owner, if the key may belong to any account. */
  readonly ownerNote?: string
  /** The mutation of the account API or of the admin API. */
  readonly mutate: (method: 'PATCH' | 'DELETE', path: string, body?: unknown) => Promise<unknown>
  readonly usage: UsagePath
}

/** Disables, enables and deletes a key, each after a confirmation. */
export function ApiKeyMenu({ apiKey, actions, ownerNote, mutate, usage }: ApiKeyMenuProps) {
  const t = useMessages('account').keys
  const shell = useMessages('shell')
  const isActive = apiKey.status === 'active'
  const setStatus = (status: 'active' | 'disabled') => () => mutate('PATCH', `/keys/${apiKey.id}`, { status })
  const toggle = (): void =>
    confirm({
      title: isActive ? t.disableTitle(apiKey.name) : t.enableTitle(apiKey.name),
      description: (
        <div className="stack">
          <p>
            {ownerNote}
            {shell.sentenceGap}
            {isActive ? t.disableEffect : t.enableEffect}
          </p>
          {isActive && <AffectedKey id={apiKey.id} usage={usage} />}
        </div>
      ),
      confirmLabel: isActive ? t.disable : t.enable,
      isSafe: !isActive,
      onConfirm: setStatus(isActive ? 'disabled' : 'active'),
      successMessage: isActive ? t.disabled(apiKey.name) : t.enabled(apiKey.name),
      undo: setStatus(isActive ? 'active' : 'disabled'),
    })
  const remove = (): void =>
    confirm({
      title: t.deleteTitle(apiKey.name),
      description: (
        <div className="stack">
          <p>
            {ownerNote}
            {shell.sentenceGap}
            {t.deleteEffect}
            {shell.sentenceGap}
            {t.month}: <Money amount={apiKey.spent.month} />
          </p>
          <AffectedKey id={apiKey.id} usage={usage} />
        </div>
      ),
      confirmLabel: shell.remove,
      onConfirm: () => mutate('DELETE', `/keys/${apiKey.id}`),
      successMessage: t.deleted,
    })
  return (
    <RowMenu
      name={apiKey.name}
      actions={[
        ...actions,
        apiKey.status !== 'expired' && { label: isActive ? t.disable : t.enable, onClick: toggle },
        { label: shell.remove, onClick: remove, isDestructive: true },
      ]}
    />
  )
}
