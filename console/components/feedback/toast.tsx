/** Short confirmations that disappear by themselves and never intercept clicks. */
import { useEffect, useSyncExternalStore } from 'react'
import { Icon } from '../layout/icon.tsx'

const visibleMs = 5000

interface ToastMessage {
  readonly id: number
  readonly text: string
}

let toasts: readonly ToastMessage[] = []
let lastId = 0
const listeners = new Set<() => void>()

function setToasts(next: readonly ToastMessage[]): void {
  toasts = next
  for (const listener of listeners) listener()
}

export function showToast(text: string): void {
  setToasts([...toasts, { id: ++lastId, text }])
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function Toast({ id, text }: ToastMessage) {
  useEffect(() => {
    const timer = setTimeout(() => setToasts(toasts.filter((item) => item.id !== id)), visibleMs)
    return () => clearTimeout(timer)
  }, [id])
  return (
    <div className="toast">
      <Icon name="check" /> {text}
    </div>
  )
}

/** Rendered once, in the shell. */
export function ToastList() {
  const all = useSyncExternalStore(subscribe, () => toasts)
  return (
    <div className="toasts" role="status" aria-live="polite">
      {all.map((item) => (
        <Toast key={item.id} {...item} />
      ))}
    </div>
  )
}
