/** The command palette: pages by name and, for operators, whatever an id, an address or a key's beginning finds. */
import { Modal } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useDeferredValue, useState, type KeyboardEvent } from 'react'
import { get, queryOf } from '../../api/client.ts'
import type { Found, Session } from '../../contract.ts'
import { useWords, type Words } from '../../language.ts'
import { useSession } from '../../api/session.ts'
import { Icon, type IconName } from './icon.tsx'
import { menuOf } from './menu.ts'

interface Hit {
  readonly href: string
  readonly icon: IconName
  readonly name: string
  readonly note: string
}

function hitOf(found: Found, { found: kinds }: Words<'shell'>): Hit {
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

function pagesNamed(typed: string, session: Session, words: Words<'shell'>): Hit[] {
  const wanted = typed.trim().toLowerCase()
  return menuOf(session, words)
    .flatMap((group) => group.entries.map((entry) => ({ ...entry, note: group.name })))
    .filter(({ name, href }) => name.toLowerCase().includes(wanted) || href.includes(wanted))
}

export interface PaletteProps {
  readonly opened: boolean
  readonly close: () => void
}

export function Palette({ opened, close }: PaletteProps) {
  const words = useWords('shell')
  return (
    <Modal
      opened={opened}
      onClose={close}
      withCloseButton={false}
      padding={0}
      size="lg"
      yOffset="12vh"
      title={words.search}
      classNames={{ header: 'unseen' }}
    >
      <Search close={close} />
    </Modal>
  )
}

function Search({ close }: { readonly close: () => void }) {
  const words = useWords('shell')
  const session = useSession()
  const navigate = useNavigate()
  const [typed, setTyped] = useState('')
  const [chosen, setChosen] = useState(0)
  const asked = useDeferredValue(typed.trim())
  const search = useQuery({
    queryKey: ['search', asked],
    queryFn: () => get<{ data: Found[] }>(`/admin/search${queryOf({ q: asked })}`),
    enabled: session.person?.role === 'operator' && asked.length >= 2,
  })
  const hits = [
    ...pagesNamed(typed, session, words),
    ...(search.data?.data ?? []).map((found) => hitOf(found, words)),
  ]
  const go = (hit: Hit | undefined): void => {
    if (hit === undefined) return
    close()
    void navigate({ href: hit.href })
  }
  const onKey = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      setChosen((before) => Math.min(Math.max(before + step, 0), Math.max(hits.length - 1, 0)))
    }
    if (event.key === 'Enter') go(hits[chosen])
  }
  return (
    <div className="palette">
      <input
        className="palette-input"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-hits"
        aria-activedescendant={hits.length > 0 ? `hit-${chosen}` : undefined}
        aria-label={words.search}
        placeholder={session.person?.role === 'operator' ? words.searchEverything : words.searchPages}
        data-autofocus
        autoFocus
        value={typed}
        onChange={(event) => {
          setTyped(event.currentTarget.value)
          setChosen(0)
        }}
        onKeyDown={onKey}
      />
      <ul id="palette-hits" role="listbox" aria-label={words.search}>
        {hits.map((hit, at) => (
          <li
            key={`${hit.note} ${hit.href} ${hit.name}`}
            id={`hit-${at}`}
            role="option"
            aria-selected={at === chosen}
            onMouseEnter={() => setChosen(at)}
            onClick={() => go(hit)}
          >
            <Icon name={hit.icon} /> <span>{hit.name}</span> <small>{hit.note}</small>
          </li>
        ))}
      </ul>
      {search.isFetching && (
        <p className="quiet palette-none" role="status">
          {words.loading}
        </p>
      )}
      {hits.length === 0 && !search.isFetching && <p className="quiet palette-none">{words.nothingFound}</p>}
    </div>
  )
}
