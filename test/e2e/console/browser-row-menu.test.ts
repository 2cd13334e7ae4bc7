// @backend sqlite – the console is the same on both
// @suite all – runs a browser
// @drives a browser
/** Tables of the console: the menu of a row, the click on a row, and how actions are undone. */
import assert from 'node:assert/strict'
import { before, describe, test, type TestContext } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { browserSkipReason, sharedBrowserServer, type BrowserSession } from '../../support/console/browser.ts'
import {
  chooseAction,
  findDialog,
  openAsOperator,
  waitForToast,
} from '../../support/console/console-steps.ts'
import { chatRequest } from '../../support/server/account.ts'
import type { RegisteredUpstream } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

const skip = { skip: browserSkipReason }
const testServer = await sharedBrowserServer()
let upstream: RegisteredUpstream | undefined

interface CredentialList {
  readonly data: { readonly id: string; readonly label: string; readonly enabled: boolean }[]
}

function credentialsPath(): string {
  return `/upstreams/${upstream?.id}/credentials`
}

async function findCredential(label: string) {
  const { data } = await testServer().admin<CredentialList>('GET', credentialsPath())
  const credential = data.find((item) => item.label === label)
  assert.ok(credential)
  return credential
}

before(async () => {
  if (browserSkipReason !== false) return
  const server = testServer()
  upstream = await server.upstream(respondWith('Hello!'), { name: 'first' })
  for (const label of ['Team A', 'Team B', 'Team C'])
    await server.admin('POST', credentialsPath(), { credential: `sk-of-${label}`, label })
})

/** Opens a page signed in as the operator. */
async function openPage(t: TestContext, path: string): Promise<BrowserSession> {
  const browser = await openAsOperator(t, testServer())
  await browser.open(path)
  return browser
}

function openUpstream(t: TestContext): Promise<BrowserSession> {
  return openPage(t, `/operator/upstreams/${upstream?.id}`)
}

function findRow(page: Page, name: string): Locator {
  return page.getByRole('row').filter({ hasText: name })
}

function menuButton(page: Page, name: string): Locator {
  return page.getByRole('button', { name: `Actions for ${name}`, exact: true })
}

describe('Row menu', () => {
  test('Menu – opens, chooses and gives the focus back by keyboard', skip, async (t) => {
    const { page } = await openPage(t, '/operator/upstreams')
    const button = menuButton(page, 'first')
    await button.focus()
    await page.keyboard.press('Enter')
    const items = page.getByRole('menuitem')
    await page.locator('[role="menuitem"]:focus').getByText('Test').waitFor()
    assert.deepEqual(await items.allTextContents(), ['Test', 'Edit', 'Disable', 'Delete'])
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await findDialog(page, 'Edit first').waitFor()
    await page.keyboard.press('Escape')
    await findDialog(page).waitFor({ state: 'detached' })
    await button.and(page.locator(':focus')).waitFor()
    await page.keyboard.press('Enter')
    // The menu hears Escape once it has the focus.
    await page.locator('[role="menuitem"]:focus').waitFor()
    await page.keyboard.press('Escape')
    await items.first().waitFor({ state: 'detached' })
    await button.and(page.locator(':focus')).waitFor()
  })

  test('Menu – is a target of 24 px on a phone’s card, too', skip, async (t) => {
    const { page } = await openPage(t, '/operator/upstreams')
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 })
      const box = await menuButton(page, 'first').boundingBox()
      assert.ok(box && box.width >= 24 && box.height >= 24, JSON.stringify(box))
      assert.ok(box.x + box.width <= width, 'the button is on the screen')
    }
  })
})

describe('Row click', () => {
  test('Row – opens the form, as its name does by keyboard', skip, async (t) => {
    const { page } = await openUpstream(t)
    await findRow(page, 'Team A').getByText('Active', { exact: true }).click()
    await findDialog(page, 'Edit “Team A”').waitFor()
    await page.keyboard.press('Escape')
    await findDialog(page).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Team A', exact: false }).first().focus()
    await page.keyboard.press('Enter')
    await findDialog(page, 'Edit “Team A”').waitFor()
  })

  test('Row – ignores clicks in its menu, beside its menu and on selected text', skip, async (t) => {
    const { page } = await openUpstream(t)
    const row = findRow(page, 'Team A')
    await menuButton(page, 'Team A').click()
    await page.getByRole('separator').click()
    await page.getByRole('menuitem').first().waitFor()
    // The menu covers the page: the click only closes it.
    const state = await row.getByText('Active', { exact: true }).boundingBox()
    assert.ok(state)
    await page.mouse.click(state.x + 5, state.y + 5)
    await page.getByRole('menuitem').first().waitFor({ state: 'detached' })
    await page.mouse.move(state.x, state.y + 5)
    await page.mouse.down()
    await page.mouse.move(state.x + state.width, state.y + 5)
    await page.mouse.up()
    assert.equal(await page.evaluate('getSelection().toString()'), 'Active')
    assert.equal(await findDialog(page).count(), 0)
  })
})

describe('Effects', () => {
  test('Disable – names the models, requests and keys of an upstream first', skip, async (t) => {
    const busy = await testServer().upstream(respondWith('Hello!'), { name: 'busy' })
    const other = await testServer().upstream(respondWith('Hello!'), { name: 'spare', priority: 9 })
    await testServer().model('only-here', { upstreams: [busy] })
    await testServer().model('also-there', { upstreams: [busy, other] })
    for (const models of [['only-here', 'also-there'], ['only-here']]) {
      const account = await testServer().account({ balance: '1' })
      for (const model of models) await (await account.post(chatRequest(model))).text()
    }
    const { page } = await openPage(t, '/operator/upstreams')
    await chooseAction(page, findRow(page, 'busy'), 'Disable')
    const dialog = findDialog(page, 'Disable busy?')
    for (const text of [
      '2 models are routed to it: also-there, only-here.',
      '1 model has no other enabled upstream and becomes unavailable: only-here.',
      'This upstream handled 3 requests from 2 API keys in the last 24 hours.',
    ])
      await dialog.getByText(text, { exact: false }).waitFor()
    await dialog.getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('button', { name: 'Undo' }).click()
    await findRow(page, 'busy').getByText('Active', { exact: true }).waitFor()
  })

  test('Price – goes back when the change is undone', skip, async (t) => {
    assert.ok(upstream)
    await testServer().model('priced', { prices: ['0.002', '0.004'], upstreams: [upstream] })
    const { page } = await openPage(t, '/operator/models/priced?edit=price')
    await findDialog(page).getByRole('textbox', { name: 'Output', exact: true }).fill('0.008')
    await findDialog(page).getByRole('button', { name: 'Change price' }).click()
    await findRow(page, 'Current').getByText('¥0.008').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await findRow(page, 'Current').getByText('¥0.004').waitFor()
  })
})

describe('Undo', () => {
  test('Undo – reverts what was confirmed, by the button', skip, async (t) => {
    const { page } = await openUpstream(t)
    await chooseAction(page, findRow(page, 'Team A'), 'Disable')
    await findDialog(page).getByRole('button', { name: 'Disable' }).click()
    await waitForToast(page, 'Credential disabled.')
    assert.equal((await findCredential('Team A')).enabled, false)
    await page.getByRole('button', { name: 'Undo' }).click()
    await waitForToast(page, 'Undone: Credential disabled.')
    assert.equal((await findCredential('Team A')).enabled, true)
    assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 0)
  })

  test('Undo – reverts an action without a confirmation, by Ctrl+Z', skip, async (t) => {
    const { page } = await openUpstream(t)
    const { id } = await findCredential('Team B')
    await testServer().admin('PATCH', `${credentialsPath()}/${id}`, { enabled: false })
    await page.reload()
    await chooseAction(page, findRow(page, 'Team B'), 'Enable')
    await waitForToast(page, 'Credential enabled.')
    await page.keyboard.press('Control+z')
    await waitForToast(page, 'Undone: Credential enabled.')
    assert.equal((await findCredential('Team B')).enabled, false)
  })

  test('Undo – shows the error when it cannot be done', skip, async (t) => {
    const { page } = await openUpstream(t)
    const { id } = await findCredential('Team C')
    await chooseAction(page, findRow(page, 'Team C'), 'Disable')
    await findDialog(page).getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('button', { name: 'Undo' }).waitFor()
    await testServer().admin('DELETE', `${credentialsPath()}/${id}`)
    await page.getByRole('button', { name: 'Undo' }).click()
    await page
      .locator('.toast')
      .getByText(/not found|no longer exists/i)
      .waitFor()
  })
})
