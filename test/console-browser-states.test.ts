/** Every page of the console while it has nothing to show: nothing is there yet, it still loads, it was refused. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page, Route } from 'playwright-core'
import { becomeOperator, visitor, withoutBrowser, type Visitor } from './chromium.ts'
import { signUp } from './console-steps.ts'
import { shareHouse } from './house.ts'
import { cutTextsOf, faultsHere, setView, type View } from './page-sweep.ts'

const skip = withoutBrowser
const house = skip === false ? await shareHouse() : undefined
/** Promised is a sign of life after 300 ms; the factor is for a machine that does other things. */
const signOfLifeMs = 300 * 5

const desk: View = { scheme: 'light', language: 'en', width: 1440 }
const phone: View = { scheme: 'dark', language: 'zh-CN', width: 390 }
const month = new Date(Date.now() + 8 * 3_600_000).toISOString().slice(0, 7)

const customersPages = [
  '/overview',
  '/keys',
  '/usage',
  '/usage/req_none',
  '/billing',
  `/billing/${month}`,
  '/models',
  '/playground',
  '/limits',
  '/notices',
  '/profile',
]

const operatorsPages = [
  '/operator/dashboard',
  '/operator/requests',
  '/operator/requests/req_none',
  '/operator/failures',
  '/operator/incidents',
  '/operator/upstreams',
  '/operator/upstreams/none',
  '/operator/models',
  '/operator/models/none',
  '/operator/accounts',
  '/operator/accounts/acc_none',
  '/operator/keys',
  '/operator/people',
  '/operator/tiers',
  '/operator/limit-requests',
  '/operator/vouchers',
  '/operator/promotions',
  '/operator/audit',
  '/operator/announcements',
  '/operator/settings',
  '/operator/backups',
  '/operator/notices',
]

/** What becomes of a page's questions: the frame around it is always answered. */
type Manner = 'pass' | 'hold' | 'fail'

class Wire {
  manner: Manner = 'pass'
  readonly #held: Route[] = []

  static async into(page: Page): Promise<Wire> {
    const wire = new Wire()
    await page.route(/\/api\/(?!console\/(session|announcements)$)/, (route) => wire.#carry(route))
    return wire
  }

  async #carry(route: Route): Promise<void> {
    if (this.manner === 'pass') await route.continue()
    else if (this.manner === 'hold') this.#held.push(route)
    else {
      const error = { message: 'It broke.', type: 'server_error', param: null, code: 'server_error' }
      await route.fulfill({ status: 500, headers: { 'x-request-id': 'req_broken' }, json: { error } })
    }
  }

  async letGo(): Promise<void> {
    this.manner = 'pass'
    // A question of a page that was left is nobody's any more.
    for (const route of this.#held.splice(0)) await route.continue().catch(() => undefined)
  }
}

/** Notes in the page when something began to load and when that was said: neither waits for the story. */
const watchLoading = `
  window.loading = { began: null, said: null }
  new MutationObserver(() => {
    const busy = document.querySelector('[aria-busy="true"]')
    if (busy === null) return
    window.loading.began ??= performance.now()
    if (busy.textContent !== '') window.loading.said ??= performance.now()
  }).observe(document, { subtree: true, childList: true, characterData: true })`

async function sweep(me: Visitor, paths: readonly string[]): Promise<void> {
  const { page, open, stands, complaints } = me
  await page.addInitScript(watchLoading)
  const wire = await Wire.into(page)
  const faults: string[] = []
  for (const [index, path] of paths.entries()) {
    const [one, other] = index % 2 === 0 ? [desk, phone] : [phone, desk]
    await setView(page, one)
    await open(path)
    faults.push(...(await faultsHere(page, `${path} empty ${one.language}`)))

    wire.manner = 'hold'
    await page.goto(`/console${path}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    const loading = page.locator('main [aria-busy="true"]').getByText(/Loading…|正在加载…/)
    await loading.first().waitFor()
    const saidMs = await page.evaluate<number>('window.loading.said - window.loading.began')
    if (saidMs > signOfLifeMs) faults.push(`${path}: no sign of life for ${saidMs} ms`)
    faults.push(...(await cutTextsOf(page)).map((text) => `${path} loading ${one.language} cut: ${text}`))
    await wire.letGo()

    wire.manner = 'fail'
    await setView(page, other)
    await page.goto(`/console${path}`)
    await page.getByRole('alert').first().waitFor()
    faults.push(...(await faultsHere(page, `${path} refused ${other.language}`)))
    wire.manner = 'pass'
    const again = page.getByRole('alert').getByRole('button', { name: /Try again|重试/ })
    while ((await again.count()) > 0) {
      await again.first().click()
      await stands()
      if (path.endsWith('none')) break
    }
  }
  complaints.splice(0, complaints.length, ...complaints.filter((text) => !/status of 500/.test(text)))
  assert.deepEqual(faults, [])
}

test(
  'a customer’s pages say that they load, what failed with a way to try again, and what to do first',
  { skip },
  async (t) => {
    assert.ok(house)
    const me = await visitor(t, house.url)
    await signUp(me, 'new@example.com')
    await sweep(me, customersPages)
  },
)

test(
  'an operator’s pages say that they load, what failed with a way to try again, and what to do first',
  { skip },
  async (t) => {
    assert.ok(house)
    const me = await visitor(t, house.url)
    await becomeOperator(me, house.log)
    await sweep(me, operatorsPages)
  },
)

test(
  'where the service does not answer the console says so, and goes on when it does',
  { skip },
  async (t) => {
    assert.ok(house)
    const me = await visitor(t, house.url)
    const { page, complaints } = me
    await signUp(me, 'patient@example.com')
    await page.route('**/api/console/session', (route) => route.abort())
    await page.goto('/console/keys')
    await page.getByRole('heading', { name: 'The service does not answer' }).waitFor()
    await page.unroute('**/api/console/session')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor()
    complaints.length = 0
  },
)
