/** The routes of the operator's pages. */
import { createRoute } from '@tanstack/react-router'
import { lazyPage } from './chunks.ts'
import { operatorRoute, withMessages } from './layout-routes.tsx'
import { stringParams } from './search-params.ts'

export const operatorRoutes = [
  createRoute({
    getParentRoute: () => operatorRoute,
    path: '/upstreams',
    validateSearch: stringParams('add', 'edit', 'test'),
    loader: withMessages('traffic'),
    component: lazyPage(() => import('./pages/operator/catalog/upstreams.tsx'), 'Upstreams'),
  }),
  createRoute({
    getParentRoute: () => operatorRoute,
    path: '/upstreams/$id',
    validateSearch: stringParams('edit', 'test'),
    loader: withMessages('traffic'),
    component: lazyPage(() => import('./pages/operator/catalog/upstream.tsx'), 'UpstreamPage'),
  }),
  createRoute({
    getParentRoute: () => operatorRoute,
    path: '/models',
    validateSearch: stringParams('q', 'add', 'seed'),
    component: lazyPage(() => import('./pages/operator/catalog/models.tsx'), 'Models'),
  }),
  createRoute({
    getParentRoute: () => operatorRoute,
    path: '/models/$id',
    validateSearch: stringParams('edit'),
    loader: withMessages('traffic'),
    component: lazyPage(() => import('./pages/operator/catalog/model.tsx'), 'ModelPage'),
  }),
  createRoute({
    getParentRoute: () => operatorRoute,
    path: '/payments',
    validateSearch: stringParams('refund', 'confirm', 'compare'),
    loader: withMessages('payments', 'invoices'),
    component: lazyPage(() => import('./pages/operator/billing/payments.tsx'), 'Payments'),
  }),
  createRoute({
    getParentRoute: () => operatorRoute,
    path: '/invoices',
    validateSearch: stringParams('issue', 'refuse', 'reverse'),
    loader: withMessages('payments', 'invoices'),
    component: lazyPage(() => import('./pages/operator/billing/invoices.tsx'), 'OperatorInvoices'),
  }),
  createRoute({
    getParentRoute: () => operatorRoute,
    path: '/vouchers',
    validateSearch: stringParams('add'),
    component: lazyPage(() => import('./pages/operator/billing/vouchers.tsx'), 'Vouchers'),
  }),
  createRoute({
    getParentRoute: () => operatorRoute,
    path: '/tiers',
    validateSearch: stringParams('add', 'edit'),
    component: lazyPage(() => import('./pages/operator/customers/tiers.tsx'), 'Tiers'),
  }),
  createRoute({
    getParentRoute: () => operatorRoute,
    path: '/accounts',
    validateSearch: stringParams('q', 'status', 'add'),
    component: lazyPage(() => import('./pages/operator/customers/accounts.tsx'), 'Accounts'),
  }),
  createRoute({
    getParentRoute: () => operatorRoute,
    path: '/accounts/$id',
    validateSearch: stringParams('add', 'edit', 'refund'),
    loader: withMessages('payments'),
    component: lazyPage(() => import('./pages/operator/customers/account.tsx'), 'AccountPage'),
  }),
  createRoute({
    getParentRoute: () => operatorRoute,
    path: '/keys',
    validateSearch: stringParams('q', 'status', 'sort', 'edit'),
    component: lazyPage(() => import('./pages/operator/customers/api-keys.tsx'), 'AllApiKeys'),
  }),
  createRoute({
    getParentRoute: () => operatorRoute,
    path: '/requests',
    validateSearch: stringParams(
      'account',
      'key',
      'model',
      'outcome',
      'operation',
      'from',
      'to',
      'request_id',
    ),
    component: lazyPage(() => import('./pages/operator/monitor/requests.tsx'), 'Requests'),
  }),
  createRoute({
    getParentRoute: () => operatorRoute,
    path: '/requests/$id',
    validateSearch: stringParams('refund'),
    component: lazyPage(() => import('./pages/operator/monitor/request.tsx'), 'RequestPage'),
  }),
  createRoute({
    getParentRoute: () => operatorRoute,
    path: '/ledger',
    component: lazyPage(() => import('./pages/operator/billing/ledger.tsx'), 'Ledger'),
  }),
  createRoute({
    getParentRoute: () => operatorRoute,
    path: '/audit',
    validateSearch: stringParams('object', 'actor', 'from', 'to'),
    component: lazyPage(() => import('./pages/operator/system/audit-log.tsx'), 'AuditLog'),
  }),
  createRoute({
    getParentRoute: () => operatorRoute,
    path: '/dashboard',
    loader: withMessages('traffic'),
    component: lazyPage(() => import('./pages/operator/monitor/dashboard.tsx'), 'Dashboard'),
  }),
  createRoute({
    getParentRoute: () => operatorRoute,
    path: '/failures',
    validateSearch: stringParams('span', 'model', 'upstream'),
    component: lazyPage(() => import('./pages/operator/monitor/failures.tsx'), 'Failures'),
  }),
  createRoute({
    getParentRoute: () => operatorRoute,
    path: '/incidents',
    validateSearch: stringParams('add', 'edit'),
    component: lazyPage(() => import('./pages/operator/monitor/incidents.tsx'), 'Incidents'),
  }),
  createRoute({
    getParentRoute: () => operatorRoute,
    path: '/people',
    validateSearch: stringParams('role', 'invite'),
    component: lazyPage(() => import('./pages/operator/customers/users.tsx'), 'Users'),
  }),
  createRoute({
    getParentRoute: () => operatorRoute,
    path: '/promotions',
    validateSearch: stringParams('add', 'edit'),
    component: lazyPage(() => import('./pages/operator/billing/promotions.tsx'), 'Promotions'),
  }),
  createRoute({
    getParentRoute: () => operatorRoute,
    path: '/settings',
    validateSearch: stringParams('q'),
    component: lazyPage(() => import('./pages/operator/system/settings.tsx'), 'Settings'),
  }),
  createRoute({
    getParentRoute: () => operatorRoute,
    path: '/branding',
    validateSearch: stringParams('edit'),
    loader: withMessages('branding'),
    component: lazyPage(() => import('./pages/operator/system/branding.tsx'), 'BrandingPage'),
  }),
  createRoute({
    getParentRoute: () => operatorRoute,
    path: '/announcements',
    validateSearch: stringParams('add', 'edit'),
    component: lazyPage(() => import('./pages/operator/system/announcements.tsx'), 'Announcements'),
  }),
  createRoute({
    getParentRoute: () => operatorRoute,
    path: '/backups',
    loader: withMessages('maintenance'),
    component: lazyPage(() => import('./pages/operator/system/backups.tsx'), 'Backups'),
  }),
  createRoute({
    getParentRoute: () => operatorRoute,
    path: '/notices',
    validateSearch: stringParams('add', 'edit'),
    loader: withMessages('maintenance'),
    component: lazyPage(
      () => import('./pages/operator/system/notification-channels.tsx'),
      'NotificationChannels',
    ),
  }),
  createRoute({
    getParentRoute: () => operatorRoute,
    path: '/limit-requests',
    validateSearch: stringParams('status', 'answer'),
    component: lazyPage(() => import('./pages/operator/customers/limit-requests.tsx'), 'LimitRequests'),
  }),
] as const
