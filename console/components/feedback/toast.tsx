/** Short messages after an action that disappear by themselves. Only those that can be undone intercept clicks. */
import { useEffect, useState, useSyncExternalStore } from 'react'
import { useMessages } from '../../locales/messages.ts'
import { useErrorText, toApiError } from '../forms/use-action.ts'
import type { ApiError } from '../../api/client.ts'
import { Icon } from '../layout/icon.tsx'

const visibleMs = 5000
/** Long enough to read the message, decide and reach the button. */
const undoableMs = 10_000

export interface ToastOptions {
  /** Reverts what the message reports. */
  readonly undo?: (() => Promise<unknown>) | undefined
}

interface ToastMessage extends ToastOptions {
  readonly id: number
  /** An error is shown in the user's language. */
  readonly content: string | ApiError
  /** The message reports that this was undone. */
  readonly isUndone?: boolean
}

let toasts: readonly ToastMessage[] = []
let lastId = 0
const listeners = new Set<() => void>()

function setToasts(next: readonly ToastMessage[]): void {
  toasts = next
  for (const listener of listeners) listener()
}

function addToast(toast: Omit<ToastMessage, 'id'>): void {
  setToasts([...toasts, { id: ++lastId, ...toast }])
}

function removeToast(id: number): void {
  setToasts(toasts.filter((toast) => toast.id !== id))
}

export function showToast(text: string, options: ToastOptions = {}): void {
  addToast({ content: text, ...options })
}

/** Acts without a confirmation; a toast then shows the message or the error. */
export async function actWithToast<Result>(
  act: () => Promise<Result>,
  text: string | ((result: Result) => string),
  options: ToastOptions = {},
): Promise<void> {
  try {
    const result = await act()
    showToast(typeof text === 'string' ? text : text(result), options)
  } catch (error) {
    addToast({ content: toApiError(error) })
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function useUndo(): (toast: ToastMessage) => void {
  const t = useMessages('shell')
  return ({ id, content, undo }) => {
    removeToast(id)
    if (undo !== undefined) void actWithToast(undo, t.undone(String(content)))
  }
}

function Toast({ toast }: { readonly toast: ToastMessage }) {
  const { id, content, undo } = toast
  const t = useMessages('shell')
  const errorText = useErrorText()
  const runUndo = useUndo()
  const [isPaused, setPaused] = useState(false)
  const isText = typeof content === 'string'
  const durationMs = isText && undo === undefined ? visibleMs : undoableMs
  useEffect(() => {
    if (isPaused) return undefined
    const timer = setTimeout(() => removeToast(id), durationMs)
    return () => clearTimeout(timer)
  }, [id, isPaused, durationMs])
  return (
    <div
      className={undo === undefined ? 'toast' : 'toast undoable'}
      onMouseEnter={() => setPaused(true)}
      onMouseLeave={() => setPaused(false)}
      onFocus={() => setPaused(true)}
      onBlur={() => setPaused(false)}
    >
      <Icon name={isText ? 'check' : 'alert'} /> <span>{isText ? content : errorText(content)}</span>
      {undo !== undefined && (
        <button type="button" aria-keyshortcuts="Control+Z Meta+Z" onClick={() => runUndo(toast)}>
          {t.undo}
        </button>
      )}
    </div>
  )
}

/** Rendered once, in the shell. Ctrl+Z or ⌘Z reverts the latest action that its message offers to undo. */
export function ToastList() {
  const all = useSyncExternalStore(subscribe, () => toasts)
  const runUndo = useUndo()
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isUndoKey = (event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === 'z'
      const isElsewhere =
        event.target instanceof Element &&
        event.target.closest('input, textarea, select, [role="dialog"]') !== null
      const latest = all.findLast(({ undo }) => undo !== undefined)
      if (!isUndoKey || isElsewhere || latest === undefined) return
      event.preventDefault()
      runUndo(latest)
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  })
  return (
    <div className="toasts" role="status" aria-live="polite">
      {all.map((toast) => (
        <Toast key={toast.id} toast={toast} />
      ))}
    </div>
  )
}
