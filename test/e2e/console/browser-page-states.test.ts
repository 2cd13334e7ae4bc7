/** Every page of the console while it has nothing to show: nothing is there yet, it still loads, it was refused. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Page, Route } from 'playwright-core'
import {
  becomeOperator,
  twinOf,
  visitor,
  withoutBrowser,
  type Visitor,
} from '../../support/console/browser.ts'
import { signUp } from '../../support/console/console-steps.ts'
import { shareHouse } from '../../support/server/test-server.ts'
import { cutTextsOf, faultsHere, setView, type View } from '../../support/console/page-checks.ts'

const skip = withoutBrowser
const house = skip === false ? await shareHouse() : undefined
/** Promised is a sign of life after 300 ms; the factor is for a machine that does other things. */
const signOfLifeMs = 300 * 5

const desk: View = { scheme: 'light', language: 'en', width: 1440 }
const phone: View = { scheme: 'dark', language: 'zh-CN', width: 390 }
const month = new Date(Date.now() + 8 * 3_600_000).toISOString().slice(0, 7)

/** Pages with the dialogues that stand over them while there is nothing yet. */
const customersPages = [
  '/overview',
  '/keys ?add=yes',
  '/usage',
  '/usage/req_none',
  '/billing ?edit=caps',
  `/billing/${month}`,
  '/models',
  '/playground',
  '/limits ?ask=yes',
  '/notices',
  '/guide',
  '/profile',
]

const operatorsPages = [
  '/operator/dashboard',
  '/operator/requests',
  '/operator/requests/req_none',
  '/operator/failures',
  '/operator/incidents ?add=yes',
  '/operator/upstreams ?add=yes',
  '/operator/audit',
  '/operator/upstreams/none',
  '/operator/models ?add=yes ?seed=yes',
  '/operator/ledger',
  '/operator/models/none',
  '/operator/accounts ?add=yes',
  '/operator/accounts/acc_none',
  '/operator/keys',
  '/operator/people ?invite=yes',
  '/operator/tiers ?add=yes ?edit=new',
  '/operator/limit-requests',
  '/operator/vouchers ?add=yes',
  '/operator/promotions ?add=yes',
  '/operator/announcements ?add=yes',
  '/operator/settings',
  '/operator/backups',
  '/operator/notices ?add=yes',
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

/** This page asks nothing that it could not do without. */
const isSteady = (path: string): boolean => path === '/guide'

/** This one asks when it is told to. */
async function press({ page }: Visitor, path: string): Promise<void> {
  if (path === '/operator/ledger') await page.getByRole('main').getByRole('button').first().click()
}

/** Refused, in one view: each refusal can be tried again. */
async function refused(me: Visitor, wire: Wire, path: string): Promise<string[]> {
  const { page, go, stands } = me
  wire.manner = 'fail'
  await go(path)
  await press(me, path)
  // What the page before has asked, too, is still known, unless the console is loaded anew.
  const alert = page.getByRole('alert').first()
  await stands()
  if (!(await alert.isVisible()) && !isSteady(path)) {
    await page.goto(`/console${path}`)
    await press(me, path)
    await alert.waitFor()
  }
  const faults = await faultsHere(page, `${path} refused`)
  wire.manner = 'pass'
  const again = page.getByRole('alert').getByRole('button', { name: /Try again|重试/ })
  while ((await again.count()) > 0) {
    await again.first().click()
    await stands()
    if (path.endsWith('none')) break
  }
  return faults
}

/** Opened by its address: says in time that it loads, then what to do first; and so do its dialogues. */
async function loadingThenEmpty(
  me: Visitor,
  wire: Wire,
  path: string,
  dialogues: readonly string[],
): Promise<string[]> {
  const { page, go, stands } = me
  wire.manner = 'hold'
  await page.goto(`/console${path}`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await press(me, path)
  const faults: string[] = []
  if (!isSteady(path)) {
    const loading = page.locator('main [aria-busy="true"]').getByText(/Loading…|正在加载…/)
    await loading.first().waitFor()
    const saidMs = await page.evaluate<number>('window.loading.said - window.loading.began')
    if (saidMs > signOfLifeMs) faults.push(`${path}: no sign of life for ${saidMs} ms`)
  }
  faults.push(...(await cutTextsOf(page)).map((text) => `${path} loading cut: ${text}`))
  await wire.letGo()
  await stands()
  faults.push(...(await faultsHere(page, `${path} empty`)))
  for (const dialogue of dialogues) {
    await go(path + dialogue)
    faults.push(...(await faultsHere(page, `${path}${dialogue} empty`)))
  }
  return faults
}

/** Through these pages, each in both views: refused in one, loading and empty in the other. */
async function sweep(me: Visitor, pages: readonly string[]): Promise<string[]> {
  await me.page.addInitScript(watchLoading)
  const wire = await Wire.into(me.page)
  const faults: string[] = []
  for (const [index, page] of pages.entries()) {
    const [one, other] = index % 2 === 0 ? [desk, phone] : [phone, desk]
    const [path = '', ...dialogues] = page.split(' ')
    await setView(me, other)
    const found = await refused(me, wire, path)
    await setView(me, one)
    found.push(...(await loadingThenEmpty(me, wire, path, dialogues)))
    faults.push(...found.map((fault) => `${fault} (refused in ${other.language})`))
  }
  const { complaints } = me
  complaints.splice(0, complaints.length, ...complaints.filter((text) => !/status of 500/.test(text)))
  return faults
}

/** The same person twice at once, each through half of the pages. */
async function sweepBoth(t: TestContext, me: Visitor, pages: readonly string[]): Promise<void> {
  const twin = await twinOf(t, me)
  const half = Math.ceil(pages.length / 2)
  const faults = await Promise.all([sweep(me, pages.slice(0, half)), sweep(twin, pages.slice(half))])
  assert.deepEqual(faults.flat(), [])
}

test(
  'a customer’s pages say that they load, what failed with a way to try again, and what to do first',
  { skip },
  async (t) => {
    assert.ok(house)
    const me = await visitor(t, house.url)
    await signUp(me, 'new@example.com')
    await sweepBoth(t, me, customersPages)
  },
)

test(
  'an operator’s pages say that they load, what failed with a way to try again, and what to do first',
  { skip },
  async (t) => {
    assert.ok(house)
    const me = await visitor(t, house.url)
    await becomeOperator(me, house.log)
    await sweepBoth(t, me, operatorsPages)
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
