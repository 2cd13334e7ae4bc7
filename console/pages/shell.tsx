/** The frame around every page for signed-in users: sidebar, search and user menu. */
import { Menu } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, Navigate, Outlet, useLocation, useNavigate } from '@tanstack/react-router'
import { Suspense, useEffect, useId, useState } from 'react'
import { call } from '../api/client.ts'
import type { Session } from '../api/contract.ts'
import { setLanguage, useLanguage, useMessages } from '../locales/messages.ts'
import { useAction } from '../components/forms/use-action.ts'
import { AnnouncementBar, announcementsQuery } from '../components/layout/announcement-bar.tsx'
import { ConfirmDialog } from '../components/feedback/confirm-dialog.tsx'
import { Brand, BrandingLinks } from '../components/layout/branding.tsx'
import { Icon } from '../components/layout/icon.tsx'
import { menuBadges, menuFor } from '../components/layout/menu.ts'
import { Loading } from '../components/feedback/empty-state.tsx'
import { CommandPalette } from '../components/layout/command-palette.tsx'
import { ToastList } from '../components/feedback/toast.tsx'
import { setColorScheme, useColorScheme } from '../styles/color-scheme.ts'
import { startSession, queryClient, signOut, useSession } from '../api/session.ts'

const searchKeys = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘K' : 'Ctrl K'

/** The console's root leads customers to their overview and operators to the dashboard. */
export function HomeRedirect() {
  const { account } = useSession()
  return account === null ? (
    <Navigate to="/operator/dashboard" replace />
  ) : (
    <Navigate to="/overview" replace />
  )
}

export function Shell() {
  const t = useMessages('shell')
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
  if (person === null) return <SessionEnded />
  return (
    <div className={isOpen ? 'shell open' : 'shell'}>
      <a className="skip-link" href="#content">
        {t.skip}
      </a>
      <Sidebar close={() => setOpen(false)} />
      <button
        type="button"
        className="backdrop"
        aria-label={t.closeMenu}
        tabIndex={isOpen ? 0 : -1}
        onClick={() => setOpen(false)}
      />
      <div className="shell-main">
        <header className="top-bar">
          <button
            type="button"
            className="ghost menu-button"
            aria-label={t.openMenu}
            aria-expanded={isOpen}
            onClick={() => setOpen(true)}
          >
            <Icon name="menu" />
          </button>
          <button type="button" className="search-button" onClick={() => setSearching(true)}>
            <Icon name="search" /> <span>{t.search}</span> <kbd>{searchKeys}</kbd>
          </button>
          <UserMenu />
        </header>
        <ImpersonationBanner />
        <AnnouncementBar />
        <main id="content" tabIndex={-1}>
          <Suspense fallback={<Loading />}>
            <Outlet />
          </Suspense>
        </main>
      </div>
      <CommandPalette opened={isSearching} close={() => setSearching(false)} />
      <ConfirmDialog />
      <ToastList />
    </div>
  )
}

/** The session ended elsewhere: redirects to sign-in, and back here afterwards. */
function SessionEnded() {
  const { href } = useLocation()
  const [next] = useState(href)
  const navigate = useNavigate()
  useEffect(() => {
    void navigate({ to: '/sign-in', search: { next, reason: 'ended' }, replace: true })
  }, [navigate, next])
  return null
}

function Sidebar({ close }: { readonly close: () => void }) {
  const t = useMessages('shell')
  const session = useSession()
  const id = useId()
  const badges = menuBadges(useQuery(announcementsQuery).data?.counts, t)
  return (
    <nav className="sidebar" aria-label={t.menu.label}>
      <Link to="/" className="brand-link">
        <Brand />
      </Link>
      {menuFor(session, t).map((group) => (
        <div key={group.name} className="menu-group">
          <h2>{group.name}</h2>
          {group.entries.map(({ href, icon, name }) => {
            const badge = badges.get(href)
            return (
              <Link
                key={href}
                to={href}
                onClick={close}
                activeOptions={{ exact: href === '/' || href === '/operator', includeSearch: false }}
                aria-describedby={badge && `${id}${href}`}
              >
                <Icon name={icon} /> {name}
                {badge && (
                  <span className="menu-badge" aria-hidden title={badge.label}>
                    {badge.count}
                    <span id={`${id}${href}`} hidden>
                      {badge.label}
                    </span>
                  </span>
                )}
              </Link>
            )
          })}
        </div>
      ))}
      <div className="sidebar-footer">
        <BrandingLinks />
        <p>{session.platform.version}</p>
      </div>
    </nav>
  )
}

/** Shown on every page while an operator impersonates a customer. */
function ImpersonationBanner() {
  const t = useMessages('shell')
  const { acting, account } = useSession()
  const navigate = useNavigate()
  const stop = useAction(async () => {
    startSession(await call<Session>('POST', '/console/operator/act/end', {}))
    await navigate({ href: `/operator/accounts/${account?.id ?? ''}` })
  })
  if (!acting || account === null) return null
  return (
    <div className="banner" role="status">
      <Icon name="person" /> {t.impersonating(account.email)}
      <button type="button" className="link" onClick={() => void stop.run()}>
        {t.stopImpersonating}
      </button>
    </div>
  )
}

function UserMenu() {
  const t = useMessages('shell')
  const auth = useMessages('auth')
  const { person, platform } = useSession()
  const { support } = platform.branding
  const language = useLanguage()
  const scheme = useColorScheme()
  const navigate = useNavigate()
  const otherLanguage = language === 'en' ? 'zh-CN' : 'en'
  const otherScheme = scheme === 'dark' ? 'light' : 'dark'
  /** The server writes notifications and e-mails in the user's language, so it must know the choice. */
  const switchLanguage = useAction(async () => {
    await setLanguage(otherLanguage)
    await call('PATCH', '/console/me', { language: otherLanguage })
    await queryClient.invalidateQueries({ queryKey: ['account', 'notices'] })
  })
  return (
    <Menu>
      <Menu.Target>
        <button type="button" className="ghost user-button" aria-label={person?.email} title={person?.email}>
          <Icon name="person" /> <span className="user-name">{person?.email}</span>
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{person?.email}</Menu.Label>
        <Menu.Item
          leftSection={<Icon name="globe" />}
          lang={otherLanguage}
          onClick={() => void switchLanguage.run()}
        >
          {auth.language[otherLanguage]}
        </Menu.Item>
        <Menu.Item
          leftSection={<Icon name={otherScheme === 'dark' ? 'moon' : 'sun'} />}
          onClick={() => setColorScheme(otherScheme)}
        >
          {auth.scheme[otherScheme]}
        </Menu.Item>
        <Menu.Item leftSection={<Icon name="key" />} onClick={() => void navigate({ to: '/profile' })}>
          {t.menu.profile}
        </Menu.Item>
        {support !== null && (
          <Menu.Item
            component="a"
            href={support.url}
            target="_blank"
            rel="noopener noreferrer"
            leftSection={<Icon name="info" />}
          >
            {auth.links.support}
            <small className="support-contact">{support.contact}</small>
          </Menu.Item>
        )}
        <Menu.Divider />
        <Menu.Item leftSection={<Icon name="out" />} onClick={() => void signOut()}>
          {t.signOut}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
