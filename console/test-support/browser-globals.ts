/**
 * A browser's window for tests that run in Node.js, by happy-dom: it has a document, but no layout. What Node.js has
 * itself (`fetch`, `URL`, events, timers) stays, so that servers and clients in the same process work as before.
 */
import { Window } from 'happy-dom'

export const browser: Window = new Window({
  url: 'http://127.0.0.1/console/',
  width: 1440,
  height: 900,
  settings: { disableJavaScriptFileLoading: true },
})

/** Of Node.js, but those of the window belong to its page. */
const replaced = ['navigator', 'localStorage', 'sessionStorage']

for (const name of Object.getOwnPropertyNames(browser)) {
  if (name in globalThis && !replaced.includes(name)) continue
  const value: unknown = Reflect.get(browser, name)
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
}
Object.defineProperty(globalThis, 'window', { value: browser, configurable: true })

// Fields that grow with their text wait for fonts; happy-dom loads none.
Object.defineProperty(browser.document, 'fonts', { value: new EventTarget() })
