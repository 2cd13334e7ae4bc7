/**
 * Renders the console in this process: its real pages and providers in a window of happy-dom, against a real relay. What
 * depends on layout, focus, the clipboard, printing or the browser's own navigation needs a browser
 * (test/support/console/browser.ts). There is one window, so one user at a time: opening it again closes it first.
 */
import './jsx-loader.ts'
import { browser } from './browser-globals.ts'
import assert from 'node:assert/strict'
import { after, type TestContext } from 'node:test'
import { configure } from '@testing-library/dom'
import { createElement } from 'react'
import { createRoot, type Root } from 'react-dom/client'
import type { ConsoleSession } from '../../test/support/console/console-session.ts'
import { waitUntil } from '../../test/support/wait.ts'

const [{ Console }, { createConsoleRouter }, { queryClient }, { loadMessages }] = await Promise.all([
  import('../console.tsx'),
  import('../routes.tsx'),
  import('../api/session.ts'),
  import('../locales/messages.ts'),
])

// A library names an element in a warning; printed with all that hangs on it, one fills the memory.
Object.assign(console, {
  warn: (...parts: readonly unknown[]) =>
    process.stderr.write(`${parts.filter((part) => typeof part === 'string').join(' ')}\n`),
})

/** For every wait of a test; long enough for a slow and busy machine. */
const timeoutMs = 60_000
configure({
  asyncUtilTimeout: timeoutMs,
  // What a style sheet hides is not known here, and finding out what an element inherits is expensive.
  defaultHidden: true,
  getElementError: (message) => new Error(`${message ?? ''}\nThe page: ${document.body.textContent}`),
})

export interface OpenedConsole {
  /** Goes to a page as a link does, and waits until it is ready. */
  readonly navigate: (path: string) => Promise<void>
  /** Fetches again what the page shows, and waits until it shows the response. */
  readonly refresh: () => Promise<void>
}

interface Opened {
  readonly session: ConsoleSession
  readonly root: Root
  readonly router: ReturnType<typeof createConsoleRouter>
  readonly errors: unknown[]
  pending: number
}

let opened: Opened | undefined

/** Requests of the console go to the relay of its session, with its cookies. */
const fetchOfNode = globalThis.fetch
globalThis.fetch = async (input, init = {}) => {
  if (typeof input !== 'string' || !input.startsWith('/')) return fetchOfNode(input, init)
  const page = opened
  assert.ok(page, `${input} is requested while no page is open`)
  const { method = 'GET', body, headers } = init
  page.pending += 1
  try {
    return await page.session.fetch(
      method,
      input,
      body ?? undefined,
      Object.fromEntries(new Headers(headers)),
    )
  } finally {
    page.pending -= 1
  }
}

function close(): void {
  const closed = opened
  if (closed === undefined) return
  closed.root.unmount()
  closed.router.history.destroy()
  opened = undefined
  queryClient.clear()
  document.body.replaceChildren()
  localStorage.clear()
  sessionStorage.clear()
  assert.deepEqual(closed.errors, [], 'the page reported errors')
}

after(async () => {
  close()
  await browser.happyDOM.close()
})

function isReady({ pending, router }: Opened): boolean {
  return (
    pending === 0 &&
    router.state.status === 'idle' &&
    queryClient.isFetching() === 0 &&
    document.querySelector('h1') !== null &&
    document.querySelector('[aria-busy="true"]') === null
  )
}

/** Opens a page of the console as the user of a session. */
export async function openConsole(
  t: TestContext,
  session: ConsoleSession,
  path: string,
  language: 'en' | 'zh-CN' = 'en',
): Promise<OpenedConsole> {
  close()
  t.after(close)
  browser.happyDOM.setURL(`${session.url}/console${path}`)
  document.documentElement.lang = language
  await loadMessages(language, 'auth')
  const container = document.body.appendChild(document.createElement('div'))
  const errors: unknown[] = []
  const report = (error: unknown): void => void errors.push(error)
  const root = createRoot(container, { onUncaughtError: report, onCaughtError: report })
  const router = createConsoleRouter()
  const page: Opened = { session, root, router, errors, pending: 0 }
  opened = page
  root.render(createElement(Console, { router }))
  const waitUntilReady = async (): Promise<void> => {
    await waitUntil(() => errors.length > 0 || isReady(page), 'the page to be ready')
    assert.deepEqual(errors, [], 'the page reported errors')
  }
  const navigate = async (to: string): Promise<void> => {
    await router.navigate({ href: to })
    await waitUntilReady()
  }
  const refresh = async (): Promise<void> => {
    await queryClient.refetchQueries({ type: 'active' })
    await waitUntilReady()
  }
  await waitUntilReady()
  return { navigate, refresh }
}
