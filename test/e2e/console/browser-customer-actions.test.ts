// @backend sqlite – the console is the same on both
// @suite all – runs a browser
// @drives a browser
/** Actions on accounts, users and API keys: their figures in the confirmation, and their undo. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { chatRequest } from '../../support/server/account.ts'
import { browserSkipReason, openBrowser, sharedBrowserServer } from '../../support/console/browser.ts'
import {
  chooseAction,
  findDialog,
  openAsOperator,
  signUp,
  waitForToast,
} from '../../support/console/console-steps.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

const skip = browserSkipReason
const testServer = await sharedBrowserServer()
if (browserSkipReason === false) {
  const server = testServer()
  const upstream = await server.upstream(respondWith('Hello!', { input: 1000, output: 100 }))
  await server.model('test-model', { upstreams: [upstream] })
}

async function undo(page: Page, message: string): Promise<void> {
  await page.getByRole('button', { name: 'Undo' }).last().click()
  await waitForToast(page, `Undone: ${message}`)
}

describe('Actions of operators', () => {
  test('Suspended account – says keys, requests and balance before, and is undone', { skip }, async (t) => {
    const account = await testServer().account({ balance: '2' })
    await account.newKey()
    await (await account.post(chatRequest('test-model'))).text()
    const { page, navigate } = await openAsOperator(t, testServer())
    await navigate(`/operator/accounts/${account.id}`)
    const readStatus = async (): Promise<string> =>
      (await testServer().admin<{ status: string }>('GET', `/accounts/${account.id}`)).status

    await page.getByRole('button', { name: 'Suspend' }).click()
    const dialog = findDialog(page)
    await dialog
      .getByText('Affected: 2 active keys, 1 request in the last 24 hours, balance ¥1.9978.')
      .waitFor()
    await dialog.getByRole('button', { name: 'Suspend' }).click()
    await waitForToast(page, 'Account suspended.')
    assert.equal(await readStatus(), 'suspended')
    await undo(page, 'Account suspended.')
    assert.equal(await readStatus(), 'active')
  })

  test('Blocked sign-in – says that the keys keep working, and is undone', { skip }, async (t) => {
    const customer = await openBrowser(t, testServer().url)
    await signUp(customer, 'blocked@example.com')
    const { page, navigate } = await openAsOperator(t, testServer())
    await navigate('/operator/people')
    const row = page.getByRole('row').filter({ hasText: 'blocked@example.com' })
    await chooseAction(page, row, 'Block sign-in')
    const dialog = findDialog(page)
    const keys = 'The API keys of the account keep working: 0 active keys, 0 requests in the last 24 hours.'
    await dialog.getByText(keys).waitFor()
    await dialog.getByRole('button', { name: 'Block sign-in' }).click()
    await row.getByText('Blocked', { exact: true }).waitFor()
    await undo(page, 'Sign-in blocked.')
    await row.getByText('Allowed', { exact: true }).waitFor()
  })

  test('Key of a customer – opens with a click on its row; a changed cap is undone', { skip }, async (t) => {
    const account = await testServer().account({
      key: { name: 'row-key', caps: { daily: '5' }, models: ['test-model', 'old-*'] },
    })
    const readKey = async (): Promise<{ caps: object; models: string[] }> => {
      const list = await testServer().admin<{ data: { caps: object; models: string[] }[] }>(
        'GET',
        `/keys?account=${account.id}`,
      )
      assert.ok(list.data[0])
      return list.data[0]
    }
    const { page, navigate } = await openAsOperator(t, testServer())
    await navigate('/operator/keys?q=row-key')
    await page
      .getByRole('row', { name: /row-key/ })
      .getByText('Active', { exact: true })
      .click()
    const dialog = findDialog(page, 'Edit “row-key”')
    assert.equal(await dialog.getByLabel('Daily cap').inputValue(), '5')
    await dialog.getByLabel('Daily cap').fill('7')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await waitForToast(page, 'Saved.')
    assert.deepEqual((await readKey()).caps, { daily: '7', monthly: null, total: null })
    await undo(page, 'Saved.')
    const { caps, models } = await readKey()
    assert.deepEqual(caps, { daily: '5', monthly: null, total: null })
    assert.deepEqual(models, ['test-model', 'old-*'])
  })

  test('Tier – opens with a click on its row', { skip }, async (t) => {
    const { page, navigate } = await openAsOperator(t, testServer())
    await navigate('/operator/tiers')
    await page.getByRole('row', { name: /^new/ }).getByRole('cell').last().click()
    await findDialog(page, 'Edit tier “new”').waitFor()
    assert.equal(new URL(page.url()).search, '?edit=new')
  })
})

describe('Actions of customers', () => {
  test('Disabled key – says its requests before, and is undone', { skip }, async (t) => {
    const browser = await openBrowser(t, testServer().url)
    const { page, context, navigate } = browser
    await signUp(browser, 'keys@example.com')
    const headers = { origin: testServer().url }
    await context.request.post('/api/console/keys', { data: { name: 'website' }, headers })
    await navigate('/keys')
    const row = page.getByRole('row', { name: /website/ })
    await chooseAction(page, row, 'Disable')
    const dialog = findDialog(page, 'Disable “website”?')
    await dialog.getByText('Affected: 0 requests in the last 24 hours.').waitFor()
    await dialog.getByRole('button', { name: 'Disable' }).click()
    await row.getByText('Disabled', { exact: true }).waitFor()
    await undo(page, '“website” disabled.')
    await row.getByText('Active', { exact: true }).waitFor()
  })
})
