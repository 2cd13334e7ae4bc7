/** An operator's day at the console, in a real browser: from the printed link to the audit log. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { question } from './support/server/account.ts'
import { eventually } from './support/client/responses.ts'
import { becomeOperator, isIn, visitor, withoutBrowser, type Visitor } from './support/console/browser.ts'
import {
  createKey,
  customersPassword,
  dialogOf,
  enterPassword,
  goTo,
  keepKey,
  signInAsOperator,
  told,
} from './support/console/console-steps.ts'
import { shareHouse } from './support/server/test-server.ts'
import {
  addUpstream,
  changePrice,
  credit,
  offerModel,
  openAccount,
} from './support/console/operator-steps.ts'
import { openUpstream } from './support/upstream/scripted-upstream.ts'
import { failing, saying } from './support/upstream/scripted-responses.ts'

const house = withoutBrowser === false ? await shareHouse({ env: { INCIDENT_RECOVERY: '2s' } }) : undefined

function theHouse() {
  assert.ok(house)
  return house
}

/** Makes the link by which the account's person comes in, who then does. */
async function handOver(page: Page, customer: Visitor): Promise<void> {
  await page.getByRole('button', { name: 'Make a one-time link' }).click()
  await dialogOf(page, 'Make a link for customer@example.com to sign in with?')
    .getByRole('button', { name: 'Make a one-time link' })
    .click()
  const secret = dialogOf(page, 'One-time link').locator('.secret code')
  const link = new URL((await secret.textContent()) ?? '')
  await dialogOf(page, 'One-time link').getByRole('button', { name: 'I have kept it' }).click()
  await customer.open(`${link.pathname.replace('/console', '')}${link.hash}`)
  await customer.page.getByRole('textbox', { name: 'New password' }).fill(customersPassword)
  await customer.page.getByRole('button', { name: 'Save the password' }).click()
  await customer.page.getByRole('link', { name: 'Sign in' }).click()
  await enterPassword(customer, 'customer@example.com', customersPassword)
  await isIn(customer.page)
}

async function announce(page: Page, title: string): Promise<void> {
  const dialog = dialogOf(page)
  await goTo(page, 'Announcements')
  await page.getByRole('button', { name: 'Announce something' }).first().click()
  await dialog.getByLabel('Title, English').fill(title)
  await dialog.getByLabel('Text, English').fill('Thank you for your patience.')
  await dialog.getByRole('button', { name: 'Announce', exact: true }).click()
  await told(page, 'It is announced.')
}

/** Among the keys of all accounts: finds one, switches it off and on, and ends it. */
async function endKey(page: Page, name: string, secret: string): Promise<void> {
  await goTo(page, 'All keys')
  const row = page.getByRole('table', { name: 'All keys' }).getByRole('row', { name: new RegExp(name) })
  await page.getByLabel('Name, secret or e-mail').fill(secret)
  await page.getByRole('button', { name: 'Find' }).click()
  await row.getByRole('link', { name: 'customer@example.com' }).waitFor()
  await row
    .getByText(/^¥0\.\d/)
    .first()
    .waitFor()
  await page.getByLabel('Order').selectOption('Longest unused first')
  assert.equal(new URL(page.url()).search, `?q=${secret}&sort=longest_unused`)
  for (const [verb, state, isTaken] of [
    ['Disable', 'disabled', false],
    ['Enable', 'active', true],
  ] as const) {
    await row.getByRole('button', { name: verb }).click()
    await dialogOf(page, `${verb} “${name}”?`).getByRole('button', { name: verb }).click()
    await row.getByText(state, { exact: true }).waitFor()
    assert.equal((await statusOf(secret)) !== 401, isTaken)
  }
  await row.getByRole('button', { name: 'Delete' }).click()
  const last = dialogOf(page, `Delete “${name}”?`)
  await last.getByText('A key of customer@example.com.').waitFor()
  await last.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('heading', { name: 'No key matches' }).waitFor()
  assert.equal(await statusOf(secret), 401)
}

async function statusOf(secret: string): Promise<number> {
  const reply = await fetch(`${theHouse().url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(question('day-model')),
  })
  await reply.arrayBuffer()
  return reply.status
}

/** Calls until it is so: an outage is seen, and its end, by what callers meet. */
async function underTraffic(secret: string, isSo: () => Promise<boolean>): Promise<void> {
  await eventually('what traffic has to show', async () => {
    await statusOf(secret)
    await delay(100)
    return (await isSo()) ? true : undefined
  })
}

test(
  'by the printed link comes an operator, who signs out, and in again with the password alone',
  { skip: withoutBrowser },
  async (t) => {
    const me = await visitor(t, theHouse().url)
    const { page } = me
    await becomeOperator(me, theHouse().log)
    assert.equal(new URL(page.url()).hash, '', 'the token stays in no history')
    await page.getByRole('button', { name: 'operator@example.com' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()

    await enterPassword(me, 'operator@example.com', 'not the password')
    await page.getByRole('alert').getByText('E-mail or password is not right.').waitFor()
    await signInAsOperator(me)
  },
)

test(
  'from an upstream over a model, a price, an account and its credit to an incident that opens and closes by itself, and the audit log tells all',
  { skip: withoutBrowser },
  async (t) => {
    const upstream = await openUpstream(saying('Hello!', { input: 1000, output: 100 }))
    t.after(() => upstream.close())
    const me = await visitor(t, theHouse().url)
    const { page } = me
    await signInAsOperator(me)
    await page.getByRole('heading', { name: 'First steps' }).waitFor()
    await addUpstream(page, 'first', upstream.url)
    await offerModel(page, 'day-model')
    await changePrice(page, '0.008')
    await openAccount(page, 'customer@example.com')
    await credit(page, '12.5')
    const customer = await visitor(t, theHouse().url)
    await handOver(page, customer)
    await goTo(page, 'Dashboard')
    await page.getByRole('heading', { name: 'First steps' }).waitFor()

    // The customer wants to hear of incidents, and calls.
    await goTo(customer.page, 'Notices')
    // It is checked when that is kept, so not before the click is over.
    await customer.page.getByRole('checkbox', { name: 'Incidents' }).click()
    await customer.page.getByRole('checkbox', { name: 'Incidents', checked: true }).waitFor()
    await goTo(customer.page, 'Keys')
    const secret = await createKey(customer.page, 'website')
    await keepKey(customer.page)
    assert.equal(await statusOf(secret), 200)
    await page.getByRole('heading', { name: 'First steps' }).waitFor({ state: 'detached' })

    upstream.always(failing(503))
    await goTo(page, 'Incidents')
    const row = page
      .getByRole('table', { name: 'Incidents and availability' })
      .getByRole('row', { name: /day-model/ })
    await underTraffic(secret, () => row.getByText('the watch').isVisible())
    await row.getByText('critical', { exact: true }).waitFor()
    await row.getByRole('button', { name: 'Post an update' }).click()
    const dialog = dialogOf(page)
    await dialog.getByLabel('Status', { exact: true }).selectOption('identified')
    await dialog.getByLabel('Message', { exact: true }).fill('The provider is down; we wait for it.')
    await dialog.getByRole('button', { name: 'Post an update' }).click()
    await row.getByText('identified', { exact: true }).waitFor()
    await goTo(customer.page, 'Notices')
    const notices = customer.page.getByRole('main').getByRole('list')
    await notices.getByText('The provider is down; we wait for it.').first().waitFor()
    const status = await (await fetch(`${theHouse().url}/status`)).text()
    assert.match(status, /The provider is down; we wait for it\./)

    upstream.always(saying('Hello!', { input: 1000, output: 100 }))
    await underTraffic(secret, () => row.getByText('resolved', { exact: true }).isVisible())

    await endKey(page, 'website', secret)
    await announce(page, 'All is well again')
    await customer.open('/overview')
    await customer.page.getByRole('status').getByText('All is well again').waitFor()

    await goTo(page, 'Audit log')
    const audit = page.getByRole('table', { name: 'Audit log' })
    for (const action of [
      'upstream.create',
      'model.create',
      'account.create',
      'account.credit',
      'key.update',
      'key.delete',
      'incident.update',
    ]) {
      const line = audit.getByRole('row', { name: new RegExp(action) }).first()
      await line.getByText('operator:operator@example.com').waitFor()
    }
  },
)

test(
  'an upstream that fails its test cannot be switched on from there',
  { skip: withoutBrowser },
  async (t) => {
    const broken = await openUpstream(failing(401))
    t.after(() => broken.close())
    const me = await visitor(t, theHouse().url)
    const { page, open } = me
    await signInAsOperator(me)
    await theHouse().upstreamAt(broken.url, { name: 'broken', enabled: false })
    await open('/operator/upstreams')
    await page
      .getByRole('row', { name: /broken/ })
      .getByRole('button', { name: 'Test' })
      .click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Model to ask').fill('any')
    await dialog.getByRole('button', { name: 'Test', exact: true }).click()
    await dialog.getByText(/The test failed/).waitFor()
    assert.equal(await dialog.getByRole('button', { name: 'Switch on' }).isDisabled(), true)
  },
)

test(
  'the palette finds a page by the keyboard alone, and the language changes all words at once',
  { skip: withoutBrowser },
  async (t) => {
    const me = await visitor(t, theHouse().url)
    const { page } = me
    await signInAsOperator(me)
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search' }).waitFor()
    await page.keyboard.type('ledg')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Ledger' }).waitFor()
    await page.getByRole('button', { name: 'Verify now' }).click()
    await page.getByText('The ledger adds up, to the last digit.').waitFor()

    await page.getByRole('button', { name: 'operator@example.com' }).click()
    await page.getByRole('menuitem', { name: '简体中文' }).click()
    await page.getByRole('heading', { name: '账本' }).waitFor()
    await page.getByRole('link', { name: '上游' }).waitFor()
    assert.equal(await page.getByText('Ledger').count(), 0)
  },
)
