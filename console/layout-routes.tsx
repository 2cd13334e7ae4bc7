/** What all pages stand in: the root, the shell for who is signed in, the operator's part of it. */
import { createRootRoute, createRoute, lazyRouteComponent, Outlet, redirect } from '@tanstack/react-router'
import { language, wordsOf, type Area } from './language.ts'
import { Lost } from './pages/not-found.tsx'
import { knownSession } from './api/session.ts'

export const root = createRootRoute({
  component: Outlet,
  // Every page wants to know who is there and what this deployment is.
  loader: () => knownSession(),
  notFoundComponent: Lost,
})

/** Fetches the words of these areas beside the page's code. */
export function withWords(...areas: readonly Area[]) {
  return async (): Promise<void> => {
    await Promise.all(areas.map((area) => wordsOf(language(), area)))
  }
}

export const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  beforeLoad: async ({ location }) => {
    const { person } = await knownSession()
    if (person === null) {
      const next = location.href === '/' ? undefined : location.href
      redirect({ to: '/sign-in', search: { next }, throw: true })
    }
  },
  loader: withWords('shell', 'account', 'customer'),
  component: lazyRouteComponent(() => import('./pages/shell.tsx'), 'Shell'),
})

export const operator = createRoute({
  getParentRoute: () => shell,
  path: '/operator',
  beforeLoad: async () => {
    const { person } = await knownSession()
    if (person?.role !== 'operator') redirect({ to: '/', throw: true })
  },
  loader: withWords('offer', 'clients', 'running'),
  component: Outlet,
})
