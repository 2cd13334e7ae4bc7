/** All pages on one screen, the operator's beside it. Each is a file of its own, fetched when it is opened, with its words. */
import { createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { ApiError } from './api/client.ts'
import { operator, root, shell } from './layout-routes.tsx'
import { operatorPages } from './operator-routes.tsx'
import { Broken } from './pages/not-found.tsx'
import { Loading } from './components/feedback/empty-state.tsx'
import { parseSearch, stringifySearch, texts } from './search-params.ts'

const entrance = [
  createRoute({
    getParentRoute: () => root,
    path: '/sign-in',
    validateSearch: texts('next', 'reason'),
    component: lazyRouteComponent(() => import('./pages/auth/sign-in.tsx'), 'SignIn'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/sign-up',
    validateSearch: texts('invite', 'promotion'),
    component: lazyRouteComponent(() => import('./pages/auth/sign-up.tsx'), 'SignUp'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/set-up',
    component: lazyRouteComponent(() => import('./pages/auth/token-pages.tsx'), 'SetUp'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/verify-email',
    component: lazyRouteComponent(() => import('./pages/auth/token-pages.tsx'), 'VerifyEmail'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/reset-password',
    component: lazyRouteComponent(() => import('./pages/auth/token-pages.tsx'), 'ResetPassword'),
  }),
] as const

const start = createRoute({
  getParentRoute: () => shell,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/start.tsx'), 'Start'),
})

const customerPages = [
  createRoute({
    getParentRoute: () => shell,
    path: '/overview',
    component: lazyRouteComponent(() => import('./pages/customer/overview.tsx'), 'Overview'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/keys',
    validateSearch: texts('add', 'edit', 'rotate'),
    component: lazyRouteComponent(() => import('./pages/keys.tsx'), 'Keys'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/usage',
    validateSearch: texts('span', 'key', 'model', 'outcome', 'request_id'),
    component: lazyRouteComponent(() => import('./pages/customer/usage.tsx'), 'Usage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/usage/$id',
    component: lazyRouteComponent(() => import('./pages/own-request.tsx'), 'OwnRequest'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/billing',
    validateSearch: texts('edit'),
    component: lazyRouteComponent(() => import('./pages/customer/billing.tsx'), 'Billing'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/billing/$month',
    component: lazyRouteComponent(() => import('./pages/customer/statement.tsx'), 'StatementPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/guide',
    component: lazyRouteComponent(() => import('./pages/guide.tsx'), 'Guide'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/models',
    validateSearch: texts('q'),
    component: lazyRouteComponent(() => import('./pages/customer/models.tsx'), 'OfferedModels'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/playground',
    validateSearch: texts('model', 'beside'),
    component: lazyRouteComponent(() => import('./pages/customer/playground.tsx'), 'Playground'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/limits',
    validateSearch: texts('ask'),
    component: lazyRouteComponent(() => import('./pages/customer/limits.tsx'), 'LimitsPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/notices',
    component: lazyRouteComponent(() => import('./pages/customer/notifications.tsx'), 'Notices'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/profile',
    component: lazyRouteComponent(() => import('./pages/customer/profile.tsx'), 'Profile'),
  }),
] as const

const tree = root.addChildren([
  ...entrance,
  shell.addChildren([start, ...customerPages, operator.addChildren([...operatorPages])]),
])

export const router = createRouter({
  routeTree: tree,
  basepath: '/console',
  parseSearch,
  stringifySearch,
  defaultPreload: 'intent',
  defaultPendingComponent: Loading,
  // With the patience of Loading itself, something is said within 300 ms.
  defaultPendingMs: 100,
  defaultErrorComponent: ({ error, reset }) => (
    <Broken isOffline={error instanceof ApiError && error.status === 0} error={error} retry={reset} />
  ),
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
