/** All routes on one screen; the operator's are in operator-routes.tsx. Each page is a chunk that is loaded on demand. */
import { createRoute, createRouter } from '@tanstack/react-router'
import { lazyPage } from './chunks.ts'
import { operatorRoute, rootRoute, shellRoute, withMessages } from './layout-routes.tsx'
import { operatorRoutes } from './operator-routes.tsx'
import { PageError } from './pages/not-found.tsx'
import { Loading } from './components/feedback/empty-state.tsx'
import { parseSearch, stringifySearch, stringParams } from './search-params.ts'

const authRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/sign-in',
    validateSearch: stringParams('next', 'reason'),
    component: lazyPage(() => import('./pages/auth/sign-in.tsx'), 'SignIn'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/sign-up',
    validateSearch: stringParams('invite', 'promotion', 'referral'),
    component: lazyPage(() => import('./pages/auth/sign-up.tsx'), 'SignUp'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/set-up',
    component: lazyPage(() => import('./pages/auth/token-pages.tsx'), 'SetUp'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/verify-email',
    component: lazyPage(() => import('./pages/auth/token-pages.tsx'), 'VerifyEmail'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: '/reset-password',
    component: lazyPage(() => import('./pages/auth/token-pages.tsx'), 'ResetPassword'),
  }),
] as const

const homeRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/',
  component: lazyPage(() => import('./pages/shell.tsx'), 'HomeRedirect'),
})

const customerRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/overview',
    component: lazyPage(() => import('./pages/customer/overview.tsx'), 'Overview'),
  }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/keys',
    validateSearch: stringParams('add', 'edit', 'rotate'),
    component: lazyPage(() => import('./pages/customer/api-keys.tsx'), 'ApiKeys'),
  }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/usage',
    validateSearch: stringParams('span', 'key', 'model', 'outcome', 'operation', 'request_id'),
    component: lazyPage(() => import('./pages/customer/usage.tsx'), 'Usage'),
  }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/usage/$id',
    component: lazyPage(() => import('./pages/customer/request.tsx'), 'RequestPage'),
  }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/billing',
    validateSearch: stringParams('edit', 'refund'),
    loader: withMessages('payments', 'invoices'),
    component: lazyPage(() => import('./pages/customer/billing.tsx'), 'Billing'),
  }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/billing/recharge',
    validateSearch: stringParams('method', 'amount'),
    loader: withMessages('payments'),
    component: lazyPage(() => import('./pages/customer/recharge.tsx'), 'Recharge'),
  }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/billing/orders/$id',
    loader: withMessages('payments', 'invoices'),
    component: lazyPage(() => import('./pages/customer/order.tsx'), 'OrderPage'),
  }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/billing/orders/$id/receipt',
    loader: withMessages('payments', 'invoices'),
    component: lazyPage(() => import('./pages/customer/receipt.tsx'), 'ReceiptPage'),
  }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/billing/invoices',
    validateSearch: stringParams('add'),
    loader: withMessages('payments', 'invoices'),
    component: lazyPage(() => import('./pages/customer/invoices.tsx'), 'Invoices'),
  }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/billing/$month',
    loader: withMessages('payments', 'invoices'),
    component: lazyPage(() => import('./pages/customer/statement.tsx'), 'StatementPage'),
  }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/guide',
    component: lazyPage(() => import('./pages/customer/guide.tsx'), 'Guide'),
  }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/models',
    validateSearch: stringParams('q'),
    component: lazyPage(() => import('./pages/customer/models.tsx'), 'OfferedModels'),
  }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/playground',
    validateSearch: stringParams('model', 'beside'),
    component: lazyPage(() => import('./pages/customer/playground.tsx'), 'Playground'),
  }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/limits',
    validateSearch: stringParams('ask'),
    component: lazyPage(() => import('./pages/customer/limits.tsx'), 'LimitsPage'),
  }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/notices',
    component: lazyPage(() => import('./pages/customer/notifications.tsx'), 'Notifications'),
  }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/profile',
    component: lazyPage(() => import('./pages/customer/profile.tsx'), 'Profile'),
  }),
] as const

const routeTree = rootRoute.addChildren([
  ...authRoutes,
  shellRoute.addChildren([homeRoute, ...customerRoutes, operatorRoute.addChildren([...operatorRoutes])]),
])

export function createConsoleRouter() {
  return createRouter({
    routeTree,
    basepath: '/console',
    parseSearch,
    stringifySearch,
    defaultPreload: 'intent',
    defaultPendingComponent: Loading,
    // Together with the delay of Loading, feedback appears within 300 ms.
    defaultPendingMs: 100,
    // A page appears as soon as it can, also when a loading indicator was shown for a moment.
    defaultPendingMinMs: 0,
    defaultErrorComponent: ({ error, reset }) => <PageError error={error} retry={reset} />,
    scrollRestoration: true,
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>
  }
}
