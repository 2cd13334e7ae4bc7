/** What stands around every page once one is signed in: the menu, the search, and the person's own menu. */
import { Menu } from '@mantine/core'
import { Link, Outlet, useLocation, useNavigate } from '@tanstack/react-router'
import { Suspense, useEffect, useState } from 'react'
import { call } from '../api/client.ts'
import type { Session } from '../contract.ts'
import { chooseLanguage, useLanguage, useWords } from '../language.ts'
import { useAction } from '../components/forms/use-action.ts'
import { AnnouncementBar } from '../components/layout/announcement-bar.tsx'
import { Confirmation } from '../parts/confirm.tsx'
import { Brand } from '../components/layout/auth-layout.tsx'
import { Icon } from '../components/layout/icon.tsx'
import { menuOf } from '../components/layout/menu.ts'
import { Loading } from '../components/feedback/empty-state.tsx'
import { Palette } from '../components/layout/command-palette.tsx'
import { Toasts } from '../components/feedback/toast.tsx'
import { chooseScheme, useScheme } from '../styles/color-scheme.ts'
import { enter, queries, signOut, useSession } from '../api/session.ts'

export function Shell() {
  const words = useWords('shell')
  const [isOpen, setOpen] = useState(false)
  const [isSearching, setSearching] = useState(false)
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey)) return
      event.preventDefault()
      setSearching((before) => !before)
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [])
  const { person } = useSession()
  if (person === null) return <Ended />
  return (
    <div className={isOpen ? 'shell open' : 'shell'}>
      <a className="skip" href="#content">
        {words.skip}
      </a>
      <Sidebar close={() => setOpen(false)} />
      <button
        type="button"
        className="shade"
        aria-label={words.closeMenu}
        tabIndex={isOpen ? 0 : -1}
        onClick={() => setOpen(false)}
      />
      <div className="shell-main">
        <header className="top">
          <button
            type="button"
            className="plain burger"
            aria-label={words.openMenu}
            aria-expanded={isOpen}
            onClick={() => setOpen(true)}
          >
            <Icon name="menu" />
          </button>
          <button type="button" className="search-button" onClick={() => setSearching(true)}>
            <Icon name="search" /> <span>{words.search}</span> <kbd>⌘K</kbd>
          </button>
          <PersonMenu />
        </header>
        <Acting />
        <AnnouncementBar />
        <main id="content" tabIndex={-1}>
          <Suspense fallback={<Loading />}>
            <Outlet />
          </Suspense>
        </main>
      </div>
      <Palette opened={isSearching} close={() => setSearching(false)} />
      <Confirmation />
      <Toasts />
    </div>
  )
}

/** The session ended in another window, or was ended from there: to the entrance, and back here after it. */
function Ended() {
  const { href } = useLocation()
  const [next] = useState(href)
  const navigate = useNavigate()
  useEffect(() => {
    void navigate({ to: '/sign-in', search: { next, reason: 'ended' }, replace: true })
  }, [navigate, next])
  return null
}

function Sidebar({ close }: { readonly close: () => void }) {
  const words = useWords('shell')
  const session = useSession()
  return (
    <nav className="sidebar" aria-label={words.menu.label}>
      <Link to="/" className="brand-link">
        <Brand />
      </Link>
      {menuOf(session, words).map((group) => (
        <div key={group.name} className="menu-group">
          <h2>{group.name}</h2>
          {group.entries.map(({ href, icon, name }) => (
            <Link
              key={href}
              to={href}
              onClick={close}
              activeOptions={{ exact: href === '/' || href === '/operator', includeSearch: false }}
            >
              <Icon name={icon} /> {name}
            </Link>
          ))}
        </div>
      ))}
      <p className="version">{session.platform.version}</p>
    </nav>
  )
}

/** An operator who looks at a customer's pages sees that on each of them. */
function Acting() {
  const words = useWords('shell')
  const { acting, account } = useSession()
  const navigate = useNavigate()
  const stop = useAction(async () => {
    enter(await call<Session>('POST', '/console/operator/act/end', {}))
    await navigate({ href: `/operator/accounts/${account?.id ?? ''}` })
  })
  if (!acting || account === null) return null
  return (
    <div className="banner" role="status">
      <Icon name="person" /> {words.acting(account.email)}
      <button type="button" className="link" onClick={() => void stop.run()}>
        {words.stopActing}
      </button>
    </div>
  )
}

function PersonMenu() {
  const words = useWords('shell')
  const door = useWords('door')
  const { person } = useSession()
  const language = useLanguage()
  const scheme = useScheme()
  const navigate = useNavigate()
  const otherLanguage = language === 'en' ? 'zh-CN' : 'en'
  const otherScheme = scheme === 'dark' ? 'light' : 'dark'
  /** The server writes notices and letters in the person's language, so it is told. */
  const speak = useAction(async () => {
    await chooseLanguage(otherLanguage)
    await call('PATCH', '/console/me', { language: otherLanguage })
    await queries.invalidateQueries({ queryKey: ['own', 'notices'] })
  })
  return (
    <Menu>
      <Menu.Target>
        <button type="button" className="plain person" aria-label={person?.email}>
          <Icon name="person" /> <span className="person-name">{person?.email}</span>
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{person?.email}</Menu.Label>
        <Menu.Item leftSection={<Icon name="globe" />} lang={otherLanguage} onClick={() => void speak.run()}>
          {door.language[otherLanguage]}
        </Menu.Item>
        <Menu.Item
          leftSection={<Icon name={otherScheme === 'dark' ? 'moon' : 'sun'} />}
          onClick={() => chooseScheme(otherScheme)}
        >
          {door.scheme[otherScheme]}
        </Menu.Item>
        <Menu.Item leftSection={<Icon name="key" />} onClick={() => void navigate({ to: '/profile' })}>
          {words.menu.profile}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item leftSection={<Icon name="out" />} onClick={() => void signOut()}>
          {words.signOut}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
