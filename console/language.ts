/**
 * The words of the console, in one language at a time. Each area is a module of its own in each language, fetched
 * when a page of it is opened; by type, no language can lack what another has.
 */
import { use, useSyncExternalStore } from 'react'

/** As the interface names them. */
export type Language = 'en' | 'zh-CN'

const loaders = {
  en: {
    door: async () => (await import('./words/en/door.ts')).door,
    shell: async () => (await import('./locales/en/shell.ts')).shell,
    offer: async () => (await import('./words/en/offer.ts')).offer,
    clients: async () => (await import('./locales/en/customers.ts')).clients,
    running: async () => (await import('./words/en/running.ts')).running,
    traffic: async () => (await import('./words/en/traffic.ts')).traffic,
    upkeep: async () => (await import('./words/en/upkeep.ts')).upkeep,
    account: async () => (await import('./locales/en/account.ts')).account,
    customer: async () => (await import('./words/en/customer.ts')).customer,
    guide: async () => (await import('./words/en/guide.ts')).guide,
  },
  'zh-CN': {
    door: async () => (await import('./words/zh-cn/door.ts')).door,
    shell: async () => (await import('./locales/zh-cn/shell.ts')).shell,
    offer: async () => (await import('./words/zh-cn/offer.ts')).offer,
    clients: async () => (await import('./locales/zh-cn/customers.ts')).clients,
    running: async () => (await import('./words/zh-cn/running.ts')).running,
    traffic: async () => (await import('./locales/zh-cn/traffic.ts')).traffic,
    upkeep: async () => (await import('./words/zh-cn/upkeep.ts')).upkeep,
    account: async () => (await import('./words/zh-cn/account.ts')).account,
    customer: async () => (await import('./words/zh-cn/customer.ts')).customer,
    guide: async () => (await import('./words/zh-cn/guide.ts')).guide,
  },
}

export type Area = keyof (typeof loaders)['en']
export type Words<Its extends Area> = Awaited<ReturnType<(typeof loaders)['en'][Its]>>

/** As React's `use` keeps it: once it is here, a page shows it at once instead of waiting a turn. */
type Kept<Value> = Promise<Value> & { status?: 'fulfilled'; value?: Value }

const kept = new Map<string, Kept<unknown>>()
const storageName = 'sluice.language'
const listeners = new Set<() => void>()

export function language(): Language {
  return document.documentElement.lang.startsWith('zh') ? 'zh-CN' : 'en'
}

/** The words of an area; loaded once. */
export function wordsOf<Its extends Area>(which: Language, area: Its): Promise<Words<Its>> {
  const name = `${which}.${area}`
  const known = kept.get(name)
  if (known !== undefined) return known as Promise<Words<Its>>
  const loading: Kept<Words<Its>> = loaders[which][area]() as Promise<Words<Its>>
  kept.set(name, loading)
  loading.then(
    (value) => Object.assign(loading, { status: 'fulfilled', value }),
    () => kept.delete(name),
  )
  return loading
}

/** Fetches all words in use in the other language first, so that nothing flickers. */
export async function chooseLanguage(next: Language): Promise<void> {
  const areas = [...kept.keys()].map((name) => name.slice(name.indexOf('.') + 1) as Area)
  await Promise.all(areas.map((area) => wordsOf(next, area)))
  document.documentElement.lang = next
  localStorage.setItem(storageName, next)
  for (const listener of listeners) listener()
}

/** What is chosen in one tab holds in all. */
window.addEventListener('storage', ({ key, newValue: next }) => {
  if (key === storageName && (next === 'en' || next === 'zh-CN')) void chooseLanguage(next)
})

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function useLanguage(): Language {
  return useSyncExternalStore(subscribe, language)
}

export function useWords<Its extends Area>(area: Its): Words<Its> {
  return use(wordsOf(useLanguage(), area))
}
