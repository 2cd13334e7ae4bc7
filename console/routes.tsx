/** All pages on one screen. Each is a file of its own, fetched when it is opened, together with its words. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router'
import { ApiError } from './api.ts'
import { language, wordsOf, type Area } from './language.ts'
import { Lost, Broken } from './pages/lost.tsx'
import { Loading } from './parts/notes.tsx'
import { parseSearch, stringifySearch, texts } from './search.ts'
import { knownSession } from './session.ts'

const root = createRootRoute({
  component: Outlet,
  // Every page wants to know who is there and what this deployment is.
  loader: () => knownSession(),
  notFoundComponent: Lost,
})

const entrance = [
  createRoute({
    getParentRoute: () => root,
    path: '/sign-in',
    validateSearch: texts('next', 'reason'),
    component: lazyRouteComponent(() => import('./pages/sign-in.tsx'), 'SignIn'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/sign-up',
    validateSearch: texts('invite', 'promotion'),
    component: lazyRouteComponent(() => import('./pages/sign-up.tsx'), 'SignUp'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/set-up',
    component: lazyRouteComponent(() => import('./pages/token-pages.tsx'), 'SetUp'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/verify-email',
    component: lazyRouteComponent(() => import('./pages/token-pages.tsx'), 'VerifyEmail'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/reset-password',
    component: lazyRouteComponent(() => import('./pages/token-pages.tsx'), 'ResetPassword'),
  }),
] as const

/** Fetches the words of these areas beside the page's code. */
function withWords(...areas: readonly Area[]) {
  return async (): Promise<void> => {
    await Promise.all(areas.map((area) => wordsOf(language(), area)))
  }
}

const shell = createRoute({
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

const start = createRoute({
  getParentRoute: () => shell,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/start.tsx'), 'Start'),
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

const operatorPages = [
  createRoute({
    getParentRoute: () => operator,
    path: '/upstreams',
    validateSearch: texts('add', 'edit', 'test'),
    component: lazyRouteComponent(() => import('./pages/operator/upstreams.tsx'), 'Upstreams'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/models',
    validateSearch: texts('q', 'add', 'seed'),
    component: lazyRouteComponent(() => import('./pages/operator/models.tsx'), 'Models'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/models/$id',
    validateSearch: texts('edit'),
    component: lazyRouteComponent(() => import('./pages/operator/model.tsx'), 'ModelPage'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/vouchers',
    validateSearch: texts('add'),
    component: lazyRouteComponent(() => import('./pages/operator/vouchers.tsx'), 'Vouchers'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/tiers',
    validateSearch: texts('add', 'edit'),
    component: lazyRouteComponent(() => import('./pages/operator/tiers.tsx'), 'Tiers'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/accounts',
    validateSearch: texts('email', 'status', 'add'),
    component: lazyRouteComponent(() => import('./pages/operator/accounts.tsx'), 'Accounts'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/accounts/$id',
    validateSearch: texts('edit'),
    component: lazyRouteComponent(() => import('./pages/operator/account.tsx'), 'AccountPage'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/requests',
    validateSearch: texts('account', 'key', 'model', 'outcome', 'from', 'to', 'request_id'),
    component: lazyRouteComponent(() => import('./pages/operator/requests.tsx'), 'Requests'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/requests/$id',
    component: lazyRouteComponent(() => import('./pages/operator/request.tsx'), 'RequestPage'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/ledger',
    component: lazyRouteComponent(() => import('./pages/operator/ledger.tsx'), 'Ledger'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/audit',
    validateSearch: texts('object'),
    component: lazyRouteComponent(() => import('./pages/operator/audit.tsx'), 'Audit'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/dashboard',
    component: lazyRouteComponent(() => import('./pages/operator/dashboard.tsx'), 'Dashboard'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/failures',
    validateSearch: texts('span', 'model', 'upstream'),
    component: lazyRouteComponent(() => import('./pages/operator/failures.tsx'), 'Failures'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/incidents',
    validateSearch: texts('add', 'edit'),
    component: lazyRouteComponent(() => import('./pages/operator/incidents.tsx'), 'Incidents'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/people',
    validateSearch: texts('role'),
    component: lazyRouteComponent(() => import('./pages/operator/people.tsx'), 'People'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/promotions',
    validateSearch: texts('add', 'edit'),
    component: lazyRouteComponent(() => import('./pages/operator/promotions.tsx'), 'Promotions'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/settings',
    validateSearch: texts('q'),
    component: lazyRouteComponent(() => import('./pages/operator/settings.tsx'), 'Settings'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/announcements',
    validateSearch: texts('add'),
    component: lazyRouteComponent(() => import('./pages/operator/announcements.tsx'), 'Announcements'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/limit-requests',
    validateSearch: texts('status', 'answer'),
    component: lazyRouteComponent(() => import('./pages/operator/limit-requests.tsx'), 'LimitRequests'),
  }),
] as const

const customerPages = [
  createRoute({
    getParentRoute: () => shell,
    path: '/overview',
    component: lazyRouteComponent(() => import('./pages/overview.tsx'), 'Overview'),
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
    component: lazyRouteComponent(() => import('./pages/usage.tsx'), 'Usage'),
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
    component: lazyRouteComponent(() => import('./pages/billing.tsx'), 'Billing'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/billing/$month',
    component: lazyRouteComponent(() => import('./pages/statement.tsx'), 'StatementPage'),
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
    component: lazyRouteComponent(() => import('./pages/offered-models.tsx'), 'OfferedModels'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/playground',
    validateSearch: texts('model', 'beside'),
    component: lazyRouteComponent(() => import('./pages/playground.tsx'), 'Playground'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/limits',
    validateSearch: texts('ask'),
    component: lazyRouteComponent(() => import('./pages/limits.tsx'), 'LimitsPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/notices',
    component: lazyRouteComponent(() => import('./pages/notices.tsx'), 'Notices'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/profile',
    component: lazyRouteComponent(() => import('./pages/profile.tsx'), 'Profile'),
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
