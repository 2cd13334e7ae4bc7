/** The colour scheme: the user's choice, or the system's. */
import { useSyncExternalStore } from 'react'

export type ColorScheme = 'light' | 'dark'

const storageName = 'sluice.scheme'
const listeners = new Set<() => void>()

function currentScheme(): ColorScheme {
  return document.documentElement.getAttribute('data-mantine-color-scheme') === 'dark' ? 'dark' : 'light'
}

export function setColorScheme(scheme: ColorScheme): void {
  document.documentElement.setAttribute('data-mantine-color-scheme', scheme)
  localStorage.setItem(storageName, scheme)
  for (const listener of listeners) listener()
}

/** A choice in one tab applies to all tabs. */
window.addEventListener('storage', ({ key, newValue: next }) => {
  if (key === storageName && (next === 'light' || next === 'dark')) setColorScheme(next)
})

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function useColorScheme(): ColorScheme {
  return useSyncExternalStore(subscribe, currentScheme)
}
