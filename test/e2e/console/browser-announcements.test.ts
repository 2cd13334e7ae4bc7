// @backend sqlite – the console is the same on both
// @suite all – runs a browser
// @drives a browser
/** Announcements in a browser: their readers dismiss them, operators edit and delete them. */
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import {
  browserSkipReason,
  openBrowser,
  sharedBrowserServer,
  type BrowserSession,
} from '../../support/console/browser.ts'
import {
  chooseAction,
  findDialog,
  openAsOperator,
  signUp,
  waitForToast,
} from '../../support/console/console-steps.ts'

const skip = { skip: browserSkipReason }
const testServer = await sharedBrowserServer()

/** Opens the announcements as the operator. */
async function openAnnouncements(t: TestContext): Promise<BrowserSession> {
  const browser = await openAsOperator(t, testServer())
  await browser.open('/operator/announcements')
  return browser
}

async function publishAnnouncement(title: string): Promise<void> {
  const text = { en: 'The relay restarts at 03:00.' }
  await testServer().admin('POST', '/announcements', { title: { en: title }, text, severity: 'critical' })
}

describe('Announcements in a browser', () => {
  test('Dismissed announcement – stays away from its reader until it is edited', skip, async (t) => {
    await publishAnnouncement('Maintenance tonight')
    const reader = await openBrowser(t, testServer().url)
    await signUp(reader, 'reader@example.com')
    const banner = reader.page.locator('.banner').filter({ hasText: 'Maintenance tonight' })
    await reader.page.getByRole('button', { name: 'Dismiss “Maintenance tonight”' }).click()
    await banner.waitFor({ state: 'detached' })
    await reader.open('/keys')
    assert.equal(await banner.count(), 0)

    const { page } = await openAnnouncements(t)
    await page.locator('.banner').getByText('Maintenance tonight').waitFor()
    await page.getByRole('cell', { name: 'Critical' }).click()
    const dialog = findDialog(page, 'Edit announcement')
    await dialog.getByLabel('Text (English)').fill('The relay restarts at 04:00.')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await waitForToast(page, 'Saved.')
    await reader.open('/keys')
    await banner.getByText('The relay restarts at 04:00.').waitFor()

    await page.getByRole('button', { name: 'Undo' }).click()
    await waitForToast(page, 'Undone: Saved.')
    await reader.open('/keys')
    assert.equal(await banner.count(), 0, 'the text is what the reader dismissed')
  })

  test('Deleted announcement – comes back when the deletion is undone', skip, async (t) => {
    await publishAnnouncement('New models')
    const { page } = await openAnnouncements(t)
    const row = page.getByRole('row').filter({ hasText: 'New models' })
    await chooseAction(page, row, 'Delete')
    await findDialog(page).getByRole('button', { name: 'Delete' }).click()
    await row.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Undo' }).click()
    await row.getByText('The relay restarts at 03:00.').waitFor()
  })

  test('Phone – operators see two lines of an announcement, customers all of it', skip, async (t) => {
    await publishAnnouncement(
      'Prices change on the first of January, and again whenever an upstream changes the prices of the models that it serves',
    )
    const { page } = await openAnnouncements(t)
    const banner = page.locator('.banner').filter({ hasText: 'Prices change' })
    await page.setViewportSize({ width: 390, height: 900 })
    await banner.waitFor()
    const height = (await banner.boundingBox())?.height ?? 0
    assert.ok(height > 40 && height < 60, `${height} px`)
    const customer = await openBrowser(t, testServer().url)
    await signUp(customer, 'phone@example.com')
    await customer.page.setViewportSize({ width: 390, height: 900 })
    const whole = customer.page.locator('.banner').filter({ hasText: 'Prices change' })
    await whole.waitFor()
    assert.ok(((await whole.boundingBox())?.height ?? 0) > 60)
  })
})
