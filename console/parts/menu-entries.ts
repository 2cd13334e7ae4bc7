/** The pages that the sidebar and the command palette lead to. */
import type { Session } from '../contract.ts'
import type { Words } from '../language.ts'
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

export function menuOf({ person }: Session, { menu }: Words<'shell'>): readonly MenuGroup[] {
  const groups: MenuGroup[] = []
  if (person?.role === 'operator') {
    groups.push(
      {
        name: menu.offer,
        entries: [
          { href: '/operator/upstreams', icon: 'server', name: menu.upstreams },
          { href: '/operator/models', icon: 'tag', name: menu.operatorModels },
        ],
      },
      {
        name: menu.customers,
        entries: [
          { href: '/operator/accounts', icon: 'people', name: menu.accounts },
          { href: '/operator/requests', icon: 'list', name: menu.requests },
          { href: '/operator/tiers', icon: 'layers', name: menu.tiers },
          { href: '/operator/vouchers', icon: 'ticket', name: menu.vouchers },
        ],
      },
      {
        name: menu.records,
        entries: [
          { href: '/operator/ledger', icon: 'ledger', name: menu.ledger },
          { href: '/operator/audit', icon: 'scroll', name: menu.audit },
        ],
      },
    )
  }
  return groups
}
