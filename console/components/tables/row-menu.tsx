/** The actions of a table row, in a menu behind one icon. Destructive actions come last. */
import { Menu } from '@mantine/core'
import { useRef, type ReactNode } from 'react'
import { useMessages } from '../../locales/messages.ts'
import { Icon } from '../layout/icon.tsx'

export interface RowAction {
  readonly label: string
  readonly onClick?: () => void
  /** Renders the entry as a link. */
  readonly renderRoot?: (props: object) => ReactNode
  readonly isDestructive?: boolean
  readonly isDisabled?: boolean
}

export interface RowMenuProps {
  /** The row's name, for the accessible name of the menu. */
  readonly name: string
  /** Actions that do not apply are false. */
  readonly actions: readonly (RowAction | false)[]
}

export function RowMenu({ name, actions }: RowMenuProps) {
  const t = useMessages('shell')
  const button = useRef<HTMLButtonElement>(null)
  const all = actions.filter((action) => action !== false)
  const safe = all.filter(({ isDestructive }) => isDestructive !== true)
  const destructive = all.filter(({ isDestructive }) => isDestructive === true)
  const item = ({ label, onClick, renderRoot, isDestructive, isDisabled = false }: RowAction) => (
    <Menu.Item
      key={label}
      className={isDestructive === true ? 'destructive' : ''}
      disabled={isDisabled}
      {...(renderRoot && { renderRoot })}
      onClick={() => {
        // A dialog that the action opens gives the focus back to the button.
        button.current?.focus()
        onClick?.()
      }}
    >
      {label}
    </Menu.Item>
  )
  return (
    // The overlay keeps the click that closes the menu from opening another row.
    <Menu
      withInitialFocusPlaceholder={false}
      menuItemTabIndex={0}
      withOverlay
      overlayProps={{ backgroundOpacity: 0 }}
    >
      <Menu.Target>
        <button ref={button} type="button" className="ghost row-menu" aria-label={t.rowActions(name)}>
          <Icon name="dots" />
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        {safe.map(item)}
        {safe.length > 0 && destructive.length > 0 && <Menu.Divider role="separator" />}
        {destructive.map(item)}
      </Menu.Dropdown>
    </Menu>
  )
}
