/** A short word that something was done. It stands long enough to be read and takes no clicks from the page. */
import { useEffect, useSyncExternalStore } from 'react'
import { Icon } from '../layout/icon.tsx'

const shownMs = 5000

interface Said {
  readonly id: number
  readonly text: string
}

let said: readonly Said[] = []
let count = 0
const listeners = new Set<() => void>()

function change(next: readonly Said[]): void {
  said = next
  for (const listener of listeners) listener()
}

export function say(text: string): void {
  change([...said, { id: ++count, text }])
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function Toast({ id, text }: Said) {
  useEffect(() => {
    const timer = setTimeout(() => change(said.filter((each) => each.id !== id)), shownMs)
    return () => clearTimeout(timer)
  }, [id])
  return (
    <div className="toast">
      <Icon name="check" /> {text}
    </div>
  )
}

/** Stands once in the shell. */
export function Toasts() {
  const all = useSyncExternalStore(subscribe, () => said)
  return (
    <div className="toasts" role="status" aria-live="polite">
      {all.map((each) => (
        <Toast key={each.id} {...each} />
      ))}
    </div>
  )
}
