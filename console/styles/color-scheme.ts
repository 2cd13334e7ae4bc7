/** Light or dark: as the person chose here, else as the machine is set. */
import { useSyncExternalStore } from 'react'

export type Scheme = 'light' | 'dark'

const storageName = 'sluice.scheme'
const listeners = new Set<() => void>()

function current(): Scheme {
  return document.documentElement.getAttribute('data-mantine-color-scheme') === 'dark' ? 'dark' : 'light'
}

export function chooseScheme(scheme: Scheme): void {
  document.documentElement.setAttribute('data-mantine-color-scheme', scheme)
  localStorage.setItem(storageName, scheme)
  for (const listener of listeners) listener()
}

/** What is chosen in one tab holds in all. */
window.addEventListener('storage', ({ key, newValue: next }) => {
  if (key === storageName && (next === 'light' || next === 'dark')) chooseScheme(next)
})

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function useScheme(): Scheme {
  return useSyncExternalStore(subscribe, current)
}
