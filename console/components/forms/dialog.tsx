/** The dialog that holds a form. */
import { Modal } from '@mantine/core'
import { createContext, use, useEffect, useState, type ReactNode } from 'react'
import { useMessages } from '../../locales/messages.ts'

type SetFlag = (isSet: boolean) => void
const ClosingByButtonOnly = createContext<SetFlag>(() => undefined)

/** While the calling component is shown, neither Escape nor a click outside closes the dialog around it. */
export function useClosingByButtonOnly(): void {
  const set = use(ClosingByButtonOnly)
  useEffect(() => {
    set(true)
    return () => set(false)
  }, [set])
}

/** Gives the focus back when a dialog is unmounted while it is open; Mantine does so only when it is closed. */
function useFocusReturn(isMountedOpen: boolean): void {
  const [wasMountedOpen] = useState(isMountedOpen)
  useEffect(() => {
    const opener = document.activeElement
    if (!wasMountedOpen || !(opener instanceof HTMLElement)) return undefined
    return () => opener.focus()
  }, [wasMountedOpen])
}

export interface DialogProps {
  readonly title: string
  readonly opened: boolean
  readonly close: () => void
  readonly children: ReactNode
  readonly size?: string
}

export function Dialog({ title, opened, close, children, size = '32rem' }: DialogProps) {
  const t = useMessages('shell')
  const [isByButtonOnly, setByButtonOnly] = useState(false)
  useFocusReturn(opened)
  return (
    <Modal
      opened={opened}
      onClose={close}
      title={title}
      size={size}
      withCloseButton={!isByButtonOnly}
      closeOnEscape={!isByButtonOnly}
      closeOnClickOutside={!isByButtonOnly}
      closeButtonProps={{ 'aria-label': t.close }}
    >
      <ClosingByButtonOnly value={setByButtonOnly}>{children}</ClosingByButtonOnly>
    </Modal>
  )
}
