/** The operator's pages. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { operator, withWords } from './layout-routes.tsx'
import { texts } from './search-params.ts'

export const operatorPages = [
  createRoute({
    getParentRoute: () => operator,
    path: '/upstreams',
    validateSearch: texts('add', 'edit', 'test'),
    component: lazyRouteComponent(() => import('./pages/operator/catalog/upstreams.tsx'), 'Upstreams'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/upstreams/$id',
    validateSearch: texts('edit', 'test'),
    loader: withWords('traffic'),
    component: lazyRouteComponent(() => import('./pages/operator/catalog/upstream.tsx'), 'UpstreamPage'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/models',
    validateSearch: texts('q', 'add', 'seed'),
    component: lazyRouteComponent(() => import('./pages/operator/catalog/models.tsx'), 'Models'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/models/$id',
    validateSearch: texts('edit'),
    component: lazyRouteComponent(() => import('./pages/operator/catalog/model.tsx'), 'ModelPage'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/vouchers',
    validateSearch: texts('add'),
    component: lazyRouteComponent(() => import('./pages/operator/billing/vouchers.tsx'), 'Vouchers'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/tiers',
    validateSearch: texts('add', 'edit'),
    component: lazyRouteComponent(() => import('./pages/operator/customers/tiers.tsx'), 'Tiers'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/accounts',
    validateSearch: texts('email', 'status', 'add'),
    component: lazyRouteComponent(() => import('./pages/operator/customers/accounts.tsx'), 'Accounts'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/accounts/$id',
    validateSearch: texts('add', 'edit', 'refund'),
    component: lazyRouteComponent(() => import('./pages/operator/customers/account.tsx'), 'AccountPage'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/keys',
    validateSearch: texts('q', 'status', 'sort'),
    component: lazyRouteComponent(() => import('./pages/operator/keys.tsx'), 'OperatorKeys'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/requests',
    validateSearch: texts('account', 'key', 'model', 'outcome', 'from', 'to', 'request_id'),
    component: lazyRouteComponent(() => import('./pages/operator/monitor/requests.tsx'), 'Requests'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/requests/$id',
    validateSearch: texts('refund'),
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
    loader: withWords('traffic'),
    component: lazyRouteComponent(() => import('./pages/operator/monitor/dashboard.tsx'), 'Dashboard'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/failures',
    validateSearch: texts('span', 'model', 'upstream'),
    component: lazyRouteComponent(() => import('./pages/operator/monitor/failures.tsx'), 'Failures'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/incidents',
    validateSearch: texts('add', 'edit'),
    component: lazyRouteComponent(() => import('./pages/operator/monitor/incidents.tsx'), 'Incidents'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/people',
    validateSearch: texts('role', 'invite'),
    component: lazyRouteComponent(() => import('./pages/operator/people.tsx'), 'People'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/promotions',
    validateSearch: texts('add', 'edit'),
    component: lazyRouteComponent(() => import('./pages/operator/billing/promotions.tsx'), 'Promotions'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/settings',
    validateSearch: texts('q'),
    component: lazyRouteComponent(() => import('./pages/operator/system/settings.tsx'), 'Settings'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/announcements',
    validateSearch: texts('add'),
    component: lazyRouteComponent(() => import('./pages/operator/system/announcements.tsx'), 'Announcements'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/backups',
    loader: withWords('upkeep'),
    component: lazyRouteComponent(() => import('./pages/operator/system/backups.tsx'), 'Backups'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/notices',
    validateSearch: texts('add', 'edit'),
    loader: withWords('upkeep'),
    component: lazyRouteComponent(
      () => import('./pages/operator/system/notification-channels.tsx'),
      'Channels',
    ),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/limit-requests',
    validateSearch: texts('status', 'answer'),
    component: lazyRouteComponent(
      () => import('./pages/operator/customers/limit-requests.tsx'),
      'LimitRequests',
    ),
  }),
] as const
