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
    groups.push({
      name: menu.offer,
      entries: [{ href: '/operator/upstreams', icon: 'server', name: menu.upstreams }],
    })
  }
  return groups
}
