/** The command palette: finds pages by name and, for operators, objects by id, e-mail or key prefix. */
import { Modal } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useDeferredValue, useState, type KeyboardEvent } from 'react'
import { get, queryString } from '../../api/client.ts'
import type { SearchResult, Session } from '../../api/contract.ts'
import { useMessages, type Messages } from '../../locales/messages.ts'
import { useSession } from '../../api/session.ts'
import { Icon, type IconName } from './icon.tsx'
import { menuFor } from './menu.ts'

interface PaletteItem {
  readonly href: string
  readonly icon: IconName
  readonly name: string
  readonly note: string
}

function searchItem(found: SearchResult, { searchKinds: kinds }: Messages<'shell'>): PaletteItem {
  switch (found.kind) {
    case 'account':
      return {
        href: `/operator/accounts/${found.id}`,
        icon: 'person',
        name: found.email,
        note: kinds.account,
      }
    case 'key':
      return {
        href: `/operator/accounts/${found.account}`,
        icon: 'key',
        name: `${found.name} ${found.prefix}…`,
        note: kinds.key,
      }
    case 'request':
      return { href: `/operator/requests/${found.id}`, icon: 'list', name: found.id, note: kinds.request }
    case 'model':
      return {
        href: `/operator/models/${encodeURIComponent(found.id)}`,
        icon: 'tag',
        name: found.id,
        note: kinds.model,
      }
    case 'upstream':
      return {
        href: `/operator/upstreams/${found.id}`,
        icon: 'server',
        name: found.name,
        note: kinds.upstream,
      }
  }
}

function matchingPages(input: string, session: Session, t: Messages<'shell'>): PaletteItem[] {
  const query = input.trim().toLowerCase()
  return menuFor(session, t)
    .flatMap((group) => group.entries.map((entry) => ({ ...entry, note: group.name })))
    .filter(({ name, href }) => name.toLowerCase().includes(query) || href.includes(query))
}

export interface CommandPaletteProps {
  readonly opened: boolean
  readonly close: () => void
}

export function CommandPalette({ opened, close }: CommandPaletteProps) {
  const t = useMessages('shell')
  return (
    <Modal
      opened={opened}
      onClose={close}
      withCloseButton={false}
      padding={0}
      size="lg"
      yOffset="12vh"
      title={t.search}
      classNames={{ header: 'visually-hidden' }}
    >
      <PaletteSearch close={close} />
    </Modal>
  )
}

function PaletteSearch({ close }: { readonly close: () => void }) {
  const t = useMessages('shell')
  const session = useSession()
  const navigate = useNavigate()
  const [input, setInput] = useState('')
  const [selectedIndex, setSelectedIndex] = useState(0)
  const query = useDeferredValue(input.trim())
  const search = useQuery({
    queryKey: ['search', query],
    queryFn: () => get<{ data: SearchResult[] }>(`/admin/search${queryString({ q: query })}`),
    enabled: session.person?.role === 'operator' && query.length >= 2,
  })
  const items = [
    ...matchingPages(input, session, t),
    ...(search.data?.data ?? []).map((found) => searchItem(found, t)),
  ]
  const go = (hit: PaletteItem | undefined): void => {
    if (hit === undefined) return
    close()
    void navigate({ href: hit.href })
  }
  const onKey = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      setSelectedIndex((before) => Math.min(Math.max(before + step, 0), Math.max(items.length - 1, 0)))
    }
    if (event.key === 'Enter') go(items[selectedIndex])
  }
  return (
    <div className="palette">
      <input
        className="palette-input"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-hits"
        aria-activedescendant={items.length > 0 ? `hit-${selectedIndex}` : undefined}
        aria-label={t.search}
        placeholder={session.person?.role === 'operator' ? t.searchEverything : t.searchPages}
        data-autofocus
        autoFocus
        value={input}
        onChange={(event) => {
          setInput(event.currentTarget.value)
          setSelectedIndex(0)
        }}
        onKeyDown={onKey}
      />
      <ul id="palette-hits" role="listbox" aria-label={t.search}>
        {items.map((hit, at) => (
          <li
            key={`${hit.note} ${hit.href} ${hit.name}`}
            id={`hit-${at}`}
            role="option"
            aria-selected={at === selectedIndex}
            onMouseEnter={() => setSelectedIndex(at)}
            onClick={() => go(hit)}
          >
            <Icon name={hit.icon} /> <span>{hit.name}</span> <small>{hit.note}</small>
          </li>
        ))}
      </ul>
      {search.isFetching && (
        <p className="muted palette-empty" role="status">
          {t.loading}
        </p>
      )}
      {items.length === 0 && !search.isFetching && <p className="muted palette-empty">{t.nothingFound}</p>}
    </div>
  )
}
