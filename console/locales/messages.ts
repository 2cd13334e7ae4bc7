/**
 * The console's messages, in one language at a time. Each namespace is a module per language, loaded when a page
 * needs it; the types ensure that no language misses a message.
 */
import { use, useSyncExternalStore } from 'react'
import { loadChunk } from '../chunks.ts'

/** The API's language codes. */
export type Language = 'en' | 'zh-CN'

const loaders = {
  en: {
    auth: async () => (await import('./en/auth.ts')).auth,
    shell: async () => (await import('./en/shell.ts')).shell,
    catalog: async () => (await import('./en/catalog.ts')).catalog,
    prices: async () => (await import('./en/prices.ts')).prices,
    customers: async () => (await import('./en/customers.ts')).customers,
    operations: async () => (await import('./en/operations.ts')).operations,
    traffic: async () => (await import('./en/traffic.ts')).traffic,
    maintenance: async () => (await import('./en/maintenance.ts')).maintenance,
    audit: async () => (await import('./en/audit.ts')).audit,
    account: async () => (await import('./en/account.ts')).account,
    payments: async () => (await import('./en/payments.ts')).payments,
    invoices: async () => (await import('./en/invoices.ts')).invoices,
    portal: async () => (await import('./en/portal.ts')).portal,
    guide: async () => (await import('./en/guide.ts')).guide,
    definitions: async () => (await import('./en/definitions.ts')).definitions,
    branding: async () => (await import('./en/branding.ts')).branding,
  },
  'zh-CN': {
    auth: async () => (await import('./zh-cn/auth.ts')).auth,
    shell: async () => (await import('./zh-cn/shell.ts')).shell,
    catalog: async () => (await import('./zh-cn/catalog.ts')).catalog,
    prices: async () => (await import('./zh-cn/prices.ts')).prices,
    customers: async () => (await import('./zh-cn/customers.ts')).customers,
    operations: async () => (await import('./zh-cn/operations.ts')).operations,
    traffic: async () => (await import('./zh-cn/traffic.ts')).traffic,
    maintenance: async () => (await import('./zh-cn/maintenance.ts')).maintenance,
    audit: async () => (await import('./zh-cn/audit.ts')).audit,
    account: async () => (await import('./zh-cn/account.ts')).account,
    payments: async () => (await import('./zh-cn/payments.ts')).payments,
    invoices: async () => (await import('./zh-cn/invoices.ts')).invoices,
    portal: async () => (await import('./zh-cn/portal.ts')).portal,
    guide: async () => (await import('./zh-cn/guide.ts')).guide,
    definitions: async () => (await import('./zh-cn/definitions.ts')).definitions,
    branding: async () => (await import('./zh-cn/branding.ts')).branding,
  },
}

export type Namespace = keyof (typeof loaders)['en']
export type Messages<N extends Namespace> = Awaited<ReturnType<(typeof loaders)['en'][N]>>

/** The fields that React's `use` reads: a resolved promise renders at once instead of suspending. */
type CachedPromise<Value> = Promise<Value> & { status?: 'fulfilled'; value?: Value }

const loaded = new Map<string, CachedPromise<unknown>>()
const storageName = 'sluice.language'
const listeners = new Set<() => void>()

export function currentLanguage(): Language {
  return document.documentElement.lang.startsWith('zh') ? 'zh-CN' : 'en'
}

/** Loads the messages of a namespace once. */
export function loadMessages<N extends Namespace>(language: Language, namespace: N): Promise<Messages<N>> {
  const name = `${language}.${namespace}`
  const cached = loaded.get(name)
  if (cached !== undefined) return cached as Promise<Messages<N>>
  const loading: CachedPromise<Messages<N>> = loadChunk<unknown>(loaders[language][namespace]) as Promise<
    Messages<N>
  >
  loaded.set(name, loading)
  loading.then(
    (value) => Object.assign(loading, { status: 'fulfilled', value }),
    () => loaded.delete(name),
  )
  return loading
}

/** Loads all namespaces in use first, so that nothing flickers. */
export async function setLanguage(next: Language): Promise<void> {
  const namespaces = [...loaded.keys()].map((name) => name.slice(name.indexOf('.') + 1) as Namespace)
  await Promise.all(namespaces.map((namespace) => loadMessages(next, namespace)))
  document.documentElement.lang = next
  localStorage.setItem(storageName, next)
  for (const listener of listeners) listener()
}

/** A choice in one tab applies to all tabs. */
window.addEventListener('storage', ({ key, newValue: next }) => {
  if (key === storageName && (next === 'en' || next === 'zh-CN')) void setLanguage(next)
})

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function useLanguage(): Language {
  return useSyncExternalStore(subscribe, currentLanguage)
}

export function useMessages<N extends Namespace>(namespace: N): Messages<N> {
  return use(loadMessages(useLanguage(), namespace))
}
