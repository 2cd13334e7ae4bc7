/** The layout routes: the root, the shell for signed-in users, and its operator section. */
import { createRootRoute, createRoute, Outlet, redirect } from '@tanstack/react-router'
import { lazyPage } from './chunks.ts'
import { currentLanguage, loadMessages, type Namespace } from './locales/messages.ts'
import { NotFound } from './pages/not-found.tsx'
import { loadSession } from './api/session.ts'

export const rootRoute = createRootRoute({
  component: Outlet,
  // Every page needs the session and the deployment's settings.
  loader: () => loadSession(),
  notFoundComponent: NotFound,
})

/** Loads these message namespaces in parallel with the page's code. */
export function withMessages(...namespaces: readonly Namespace[]) {
  return async (): Promise<void> => {
    await Promise.all(namespaces.map((namespace) => loadMessages(currentLanguage(), namespace)))
  }
}

export const shellRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'shell',
  beforeLoad: async ({ location }) => {
    const { person } = await loadSession()
    if (person === null) {
      const next = location.href === '/' ? undefined : location.href
      redirect({ to: '/sign-in', search: { next }, throw: true })
    }
  },
  loader: withMessages('shell', 'account', 'portal', 'definitions'),
  component: lazyPage(() => import('./pages/shell.tsx'), 'Shell'),
})

export const operatorRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/operator',
  beforeLoad: async () => {
    const { person } = await loadSession()
    if (person?.role !== 'operator') redirect({ to: '/', throw: true })
  },
  loader: withMessages('catalog', 'customers', 'operations'),
  component: Outlet,
})
