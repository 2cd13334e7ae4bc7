/** The confirmation of destructive or costly actions. It states the effect first and shows an error in place. */
import { Button, Modal } from '@mantine/core'
import { useSyncExternalStore, type ReactNode } from 'react'
import { useMessages } from '../../locales/messages.ts'
import { ConfirmIdentity } from '../forms/confirm-identity.tsx'
import { useAction } from '../forms/use-action.ts'
import { ErrorMessage } from './empty-state.tsx'
import { showToast } from './toast.tsx'

export interface ConfirmOptions {
  readonly title: string
  /** What the action does, with figures if there are any. */
  readonly description: ReactNode
  /** The label of the confirm button. */
  readonly confirmLabel: string
  readonly isSafe?: boolean
  readonly onConfirm: () => Promise<unknown>
  /** Shown as a toast on success. */
  readonly successMessage: string
  /** Offered with the toast: the inverse of `onConfirm`. */
  readonly undo?: () => Promise<unknown>
}

let current: ConfirmOptions | null = null
const listeners = new Set<() => void>()

function setCurrent(options: ConfirmOptions | null): void {
  current = options
  for (const listener of listeners) listener()
}

export function confirm(options: ConfirmOptions): void {
  setCurrent(options)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Rendered once, in the shell. */
export function ConfirmDialog() {
  const options = useSyncExternalStore(subscribe, () => current)
  const t = useMessages('shell')
  const action = useAction(async () => options?.onConfirm())
  const close = (): void => {
    action.reset()
    setCurrent(null)
  }
  const submit = async (): Promise<void> => {
    if (options === null || !(await action.run())) return
    setCurrent(null)
    showToast(options.successMessage, { undo: options.undo })
  }
  const needsConfirmation = action.error?.code === 'password_required'
  return (
    <Modal
      opened={options !== null}
      onClose={close}
      title={options?.title}
      closeButtonProps={{ 'aria-label': t.close }}
    >
      {needsConfirmation ? (
        <ConfirmIdentity onConfirmed={() => void submit()} cancel={close} />
      ) : (
        <div className="stack">
          <div>{options?.description}</div>
          {action.error && <ErrorMessage error={action.error} />}
          <div className="row end">
            <Button variant="default" onClick={close}>
              {t.cancel}
            </Button>
            <Button
              color={options?.isSafe === true ? 'accent' : 'red'}
              loading={action.isRunning}
              onClick={() => void submit()}
              data-autofocus
            >
              {options?.confirmLabel}
            </Button>
          </div>
        </div>
      )}
    </Modal>
  )
}
