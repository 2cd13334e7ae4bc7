/** The pages in the sidebar and the command palette. */
import type { MenuCounts, Session } from '../../api/contract.ts'
import type { Messages } from '../../locales/messages.ts'
import type { IconName } from './icon.tsx'

export interface MenuEntry {
  readonly href: string
  readonly icon: IconName
  readonly name: string
}

export interface MenuGroup {
  readonly name: string
  readonly entries: readonly MenuEntry[]
}

/** What is open or unread, by the page that lists it. */
export function menuBadges(
  counts: MenuCounts | undefined,
  t: Messages<'shell'>,
): ReadonlyMap<string, { readonly count: number; readonly label: string }> {
  if (counts === undefined) return new Map()
  const { notices, operator } = counts
  const badges = [
    { href: '/notices', count: notices, label: t.unreadCount(notices) },
    ...(operator === null
      ? []
      : [
          { href: '/operator/incidents', count: operator.incidents, label: t.openCount(operator.incidents) },
          {
            href: '/operator/limit-requests',
            count: operator.limit_requests,
            label: t.openCount(operator.limit_requests),
          },
          { href: '/operator/notices', count: operator.notices, label: t.unreadCount(operator.notices) },
        ]),
  ]
  return new Map(badges.filter(({ count }) => count > 0).map(({ href, ...badge }) => [href, badge]))
}

export function menuFor(
  { person, account, acting }: Session,
  { menu }: Messages<'shell'>,
): readonly MenuGroup[] {
  const groups: MenuGroup[] = []
  if (account !== null) {
    groups.push(
      {
        name: menu.account,
        entries: [
          { href: '/overview', icon: 'home', name: menu.overview },
          { href: '/keys', icon: 'key', name: menu.keys },
          { href: '/usage', icon: 'chart', name: menu.usage },
          { href: '/billing', icon: 'wallet', name: menu.billing },
          { href: '/limits', icon: 'gauge', name: menu.limits },
          { href: '/notices', icon: 'bell', name: menu.notifications },
        ],
      },
      {
        name: menu.build,
        entries: [
          { href: '/models', icon: 'cube', name: menu.models },
          { href: '/playground', icon: 'play', name: menu.playground },
          { href: '/guide', icon: 'book', name: menu.guide },
        ],
      },
    )
  }
  if (person?.role === 'operator' && !acting) {
    groups.push(
      {
        name: menu.monitor,
        entries: [
          { href: '/operator/dashboard', icon: 'home', name: menu.dashboard },
          { href: '/operator/requests', icon: 'list', name: menu.requests },
          { href: '/operator/failures', icon: 'close', name: menu.failures },
          { href: '/operator/incidents', icon: 'alert', name: menu.incidents },
        ],
      },
      {
        name: menu.catalog,
        entries: [
          { href: '/operator/upstreams', icon: 'server', name: menu.upstreams },
          { href: '/operator/models', icon: 'tag', name: menu.operatorModels },
        ],
      },
      {
        name: menu.customers,
        entries: [
          { href: '/operator/accounts', icon: 'people', name: menu.accounts },
          { href: '/operator/keys', icon: 'key', name: menu.operatorKeys },
          { href: '/operator/people', icon: 'person', name: menu.users },
          { href: '/operator/tiers', icon: 'layers', name: menu.tiers },
          { href: '/operator/limit-requests', icon: 'gauge', name: menu.limitRequests },
        ],
      },
      {
        name: menu.operatorBilling,
        entries: [
          { href: '/operator/payments', icon: 'wallet', name: menu.payments },
          { href: '/operator/invoices', icon: 'list', name: menu.invoices },
          { href: '/operator/vouchers', icon: 'ticket', name: menu.vouchers },
          { href: '/operator/promotions', icon: 'flag', name: menu.promotions },
          { href: '/operator/ledger', icon: 'ledger', name: menu.ledger },
        ],
      },
      {
        name: menu.system,
        entries: [
          { href: '/operator/audit', icon: 'scroll', name: menu.audit },
          { href: '/operator/announcements', icon: 'megaphone', name: menu.announcements },
          { href: '/operator/notices', icon: 'bell', name: menu.operatorNotifications },
          { href: '/operator/backups', icon: 'archive', name: menu.backups },
          { href: '/operator/branding', icon: 'palette', name: menu.branding },
          { href: '/operator/settings', icon: 'cog', name: menu.settings },
        ],
      },
    )
  }
  return groups
}
