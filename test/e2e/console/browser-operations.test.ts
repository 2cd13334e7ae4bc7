// @backend both (cluster in long runs)
// @suite all – runs a browser
// @drives a browser
/** Operator tasks in a browser: backups, notification channels, credentials, refunds, the traffic flow. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { chatRequest, type Account } from '../../support/server/account.ts'
import { executeSql } from '../../support/server/database-access.ts'
import {
  operatorPassword,
  browserSkipReason,
  sharedBrowserServer,
  type BrowserSession,
} from '../../support/console/browser.ts'
import { chooseAction, findDialog, goToPage, openAsOperator } from '../../support/console/console-steps.ts'
import type { RegisteredUpstream } from '../../support/server/test-server.ts'
import { checkPage } from '../../support/console/page-checks.ts'
import { startWebhookSink } from '../../support/sinks/webhook-sinks.ts'
import { respondWithError, respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

const skip = { skip: browserSkipReason }
/** For work of other threads on a busy machine. */
const longTimeout = { timeout: 60_000 }
const testServer = await sharedBrowserServer({ env: { CHANNEL_ALLOW: '127.0.0.0/8' } })
let upstream: RegisteredUpstream | undefined
let customer: Account | undefined
let requestId = ''

before(async () => {
  if (browserSkipReason !== false) return
  const server = testServer()
  upstream = await server.upstream(respondWith('Hello!', { input: 1000, output: 100 }), {
    prices: { input: '0.001', output: '0.001' },
  })
  const bad = await server.upstream(respondWithError(503), {
    name: 'a-backup-with-a-rather-long-name-cn-hangzhou',
  })
  await server.model('test-model', { upstreams: [upstream] })
  await server.model('broken-model', { upstreams: [bad] })
  customer = await server.account({ balance: '1' })
  const response = await customer.post(chatRequest('test-model'))
  requestId = response.headers.get('x-request-id') ?? ''
  await response.text()
  await (await customer.post(chatRequest('broken-model'))).text()
})

/** The page checks leave the console in Chinese; the next page is English again. */
async function resetLanguage({ page }: BrowserSession): Promise<void> {
  await page.evaluate("localStorage.setItem('sluice.language', 'en')")
}

/** The only backup. */
async function readBackup(): Promise<{ state: string; checked_at: string | null }> {
  const { data } = await testServer().admin<{ data: { state: string; checked_at: string | null }[] }>(
    'GET',
    '/backups',
  )
  assert.ok(data[0])
  return data[0]
}

function findRow(page: Page, table: string, name: string) {
  return page.getByRole('table', { name: table, exact: true }).getByRole('row').filter({ hasText: name })
}

describe('Operations in a browser', () => {
  test('Failed request – says why it failed and who has to act', skip, async (t) => {
    const { page, open } = await openAsOperator(t, testServer())
    await open('/operator/failures')
    await findRow(page, 'Failures', 'broken-model').getByRole('link', { name: 'Sample' }).click()
    await page.locator('.callout').getByText('Provider unavailable').waitFor()
    await page.getByText('Action required by: Provider').waitFor()
    await open('/operator/models/broken-model')
    await findRow(page, 'Routes', 'a-backup-with').waitFor()
  })

  test('Backup – is made, checked, downloaded and deleted', skip, async (t) => {
    const browser = await openAsOperator(t, testServer())
    const { page } = browser
    await goToPage(page, 'Backups')
    await page.getByRole('heading', { name: 'No backups yet' }).waitFor()
    await page.getByRole('button', { name: 'Back up now' }).click()
    await page.getByRole('textbox', { name: 'Password' }).fill(operatorPassword)
    await page.getByRole('button', { name: 'Continue' }).click()
    const row = findRow(page, 'Backups', 'backup-')
    await row.getByText('Verified', { exact: true }).waitFor(longTimeout)
    const { checked_at: createdAt } = await readBackup()
    await chooseAction(page, row, 'Verify')
    await waitUntil(async () => {
      const { state, checked_at: checkedAt } = await readBackup()
      return state === 'whole' && checkedAt !== createdAt
    }, 'the backup is verified again')
    await browser.open('/operator/backups')
    const [download] = await Promise.all([
      page.waitForEvent('download', longTimeout),
      chooseAction(page, row, 'Download'),
    ])
    assert.match(download.suggestedFilename(), /^backup-[\dT-]+\.tar$/)
    await download.delete()
    const problems = await checkPage(browser, '/operator/backups')
    await resetLanguage(browser)
    await browser.open('/operator/backups')
    await chooseAction(page, row, 'Delete')
    const confirmation = findDialog(page, 'Delete this backup?')
    await confirmation.getByText('No other verified backup exists.').waitFor()
    await confirmation.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { name: 'No backups yet' }).waitFor()
    problems.push(...(await checkPage(browser, '/operator/backups')))
    assert.deepEqual(problems, [])
  })

  test(
    'Notification channel – is added, tested, changed, disabled and deleted; secret shown once',
    skip,
    async (t) => {
      const sink = await startWebhookSink()
      const browser = await openAsOperator(t, testServer())
      const { page } = browser
      await goToPage(page, 'Notifications')
      await page.getByRole('heading', { name: 'No channels yet' }).waitFor()
      await page.getByRole('button', { name: 'Add channel' }).click()
      const add = findDialog(page, 'Add channel')
      await add.getByLabel('Type').selectOption('webhook')
      await add.getByLabel('Name').fill('on-call')
      await add.getByLabel('Webhook URL').fill(`${sink.url}/hooks/secret-part-of-the-address`)
      await add.getByLabel('Incidents').check()
      await add.getByRole('button', { name: 'Add channel' }).click()
      const secret = await add.locator('.secret code').textContent()
      assert.match(secret ?? '', /^whsec_/)
      await add.getByRole('button', { name: 'Done, I’ve saved it' }).click()
      const row = findRow(page, 'Channels', 'on-call')
      await chooseAction(page, row, 'Test')
      await row.getByText('Delivered.', { exact: true }).waitFor()
      assert.equal(sink.received.length, 1)
      assert.ok(sink.received[0]?.headers['webhook-signature'])
      assert.equal((await page.content()).includes('secret-part-of-the-address'), false)

      sink.respond = () => ({ status: 410 })
      await chooseAction(page, row, 'Test')
      await row.getByText('Delivery failed', { exact: true }).waitFor()
      await chooseAction(page, row, 'Edit')
      const edit = findDialog(page, 'Edit “on-call”')
      assert.equal(await edit.getByLabel('Webhook URL').inputValue(), '')
      await edit.getByLabel('Failed backups').check()
      await edit.getByRole('button', { name: 'Save' }).click()
      await row.getByText('Incidents, Failed backups').waitFor()
      await chooseAction(page, row, 'Disable')
      const confirmation = findDialog(page, 'Disable “on-call”?')
      await confirmation.getByText('No other channel is enabled', { exact: false }).waitFor()
      await confirmation.getByRole('button', { name: 'Disable' }).click()
      await row.getByText('Disabled', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Undo' }).click()
      await row.getByText('Active', { exact: true }).waitFor()
      const problems = await checkPage(browser, '/operator/notices')
      problems.push(...(await checkPage(browser, '/operator/notices?add=yes')))
      await resetLanguage(browser)
      await browser.open('/operator/notices')
      await chooseAction(page, row, 'Delete')
      await findDialog(page, 'Delete “on-call”?').getByRole('button', { name: 'Delete' }).click()
      await page.getByRole('heading', { name: 'No channels yet' }).waitFor()
      assert.deepEqual(problems, [])
    },
  )

  test(
    'Second upstream credential – is added, disabled and removed; its secret never returns',
    skip,
    async (t) => {
      const browser = await openAsOperator(t, testServer())
      const { page } = browser
      await goToPage(page, 'Upstreams')
      await page.getByRole('link', { name: upstream?.name ?? '', exact: true }).click()
      await page.getByRole('heading', { name: upstream?.name ?? '', level: 1 }).waitFor()
      await page.getByRole('button', { name: 'Add credential' }).click()
      const add = findDialog(page, `Add a credential to ${upstream?.name}`)
      await add.getByRole('textbox', { name: 'Credential' }).fill('sk-a-second-credential-of-9876')
      await add.getByLabel('Label').fill('Team B')
      await add.getByLabel('Weight').fill('3')
      await add.getByRole('button', { name: 'Add credential' }).click()
      const row = findRow(page, 'Credentials', 'Team B')
      await row.getByText('ends in 9876').waitFor()
      await row.getByText('Active', { exact: true }).waitFor()
      await chooseAction(page, row, 'Disable')
      await findDialog(page, 'Disable “Team B”?').getByRole('button', { name: 'Disable' }).click()
      await row.getByText('Disabled', { exact: true }).waitFor()
      await chooseAction(page, row, 'Enable')
      await row.getByText('Active', { exact: true }).waitFor()
      assert.equal((await page.content()).includes('sk-a-second'), false)
      const problems = await checkPage(browser, `/operator/upstreams/${upstream?.id}`)
      await resetLanguage(browser)
      await browser.open(`/operator/upstreams/${upstream?.id}`)
      await chooseAction(page, row, 'Delete')
      await findDialog(page, 'Delete “Team B”?').getByRole('button', { name: 'Delete' }).click()
      await row.waitFor({ state: 'detached' })
      assert.deepEqual(problems, [])
    },
  )

  test('Upstream form – says that a new server or provider deletes the credentials', skip, async (t) => {
    const { page } = await openAsOperator(t, testServer())
    await goToPage(page, 'Upstreams')
    await page.getByRole('link', { name: upstream?.name ?? '', exact: true }).click()
    await page.getByRole('button', { name: 'Edit' }).first().click()
    const form = findDialog(page, `Edit ${upstream?.name}`)
    const warning = form.getByText('Saving deletes all stored credentials of this upstream', { exact: false })
    const url = form.getByLabel('Base URL')
    await url.fill(`${upstream?.url}/other-path`)
    assert.equal(await warning.count(), 0)
    await url.fill('https://other.example/v1')
    await warning.waitFor()
    await url.fill(upstream?.url ?? '')
    await warning.waitFor({ state: 'detached' })
    await form.getByLabel('Provider').selectOption('vllm')
    await warning.waitFor()
  })

  test(
    'Refund – in part from the page of the request, the rest from that of the account',
    skip,
    async (t) => {
      const browser = await openAsOperator(t, testServer())
      const { page } = browser
      await browser.open(`/operator/requests/${requestId}`)
      await findRow(page, 'Bill', 'Input tokens').getByText('1,000', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Refund' }).click()
      const refund = findDialog(page, 'Refund this request')
      await refund.getByLabel('Amount').fill('0.0002')
      await refund.getByLabel('Reason').fill('Slow answer')
      await refund.getByRole('button', { name: 'Refund' }).click()
      await page.locator('.tile').filter({ hasText: 'Refunded' }).getByText('¥0.0002').waitFor()
      await page.locator('.tile').filter({ hasText: 'Margin' }).getByText('¥0.0009').waitFor()
      const problems = await checkPage(browser, `/operator/requests/${requestId}?refund=yes`)
      await resetLanguage(browser)

      await browser.open(`/operator/accounts/${customer?.id}`)
      await chooseAction(page, findRow(page, 'Transactions', 'Charge'), 'Refund')
      assert.equal(await refund.getByLabel('Amount').inputValue(), '0.002')
      await refund.getByLabel('Reason').fill('Goodwill')
      await refund.getByRole('button', { name: 'Refund' }).click()
      await findRow(page, 'Transactions', 'Goodwill').getByText('¥0.002', { exact: true }).waitFor()
      assert.equal(await customer?.balance(), '1')
      assert.deepEqual(problems, [])
    },
  )

  test('Rejected requests that share a record – are shown with their number', skip, async (t) => {
    const rejected = await testServer().account()
    await rejected.post(chatRequest('no-such-model'))
    const { request_id: id } = await waitUntil(async () => (await rejected.requests())[0], 'its record')
    await executeSql(testServer().relay, `update requests set count = 7940 where request_id = '${id}'`)
    const browser = await openAsOperator(t, testServer())
    const paths = [`/operator/requests?request_id=${id}`, `/operator/requests/${id}`]
    const problems: string[] = []
    for (const path of paths) {
      await browser.open(path)
      const shown = browser.page.getByTitle('7,940 requests were rejected like this')
      await shown.filter({ hasText: '× 7,940' }).first().waitFor()
      problems.push(...(await checkPage(browser, path)))
      await resetLanguage(browser)
    }
    assert.deepEqual(problems, [])
  })

  test('Link for another operator – is created after the password was entered again', skip, async (t) => {
    const { page } = await openAsOperator(t, testServer())
    await goToPage(page, 'Users')
    await page.getByRole('button', { name: 'Invite an operator' }).click()
    const confirmation = findDialog(page, 'Create a link for a new operator?')
    await confirmation.getByRole('button', { name: 'Invite an operator' }).click()
    await confirmation.getByRole('textbox', { name: 'Password' }).fill(operatorPassword)
    await confirmation.getByRole('button', { name: 'Continue' }).click()
    const link = findDialog(page, 'One-time link').locator('.secret code')
    assert.match((await link.textContent()) ?? '', /\/set-up#/)
  })

  test('Traffic flow on the dashboard – is a chart and a table with links', skip, async (t) => {
    const browser = await openAsOperator(t, testServer())
    const { page } = browser
    await browser.open('/operator/dashboard')
    const chart = page.getByRole('figure', { name: 'Traffic flow' })
    await chart.locator('text').filter({ hasText: 'broken-model' }).waitFor()
    await page
      .getByRole('region', { name: 'Traffic flow' })
      .getByRole('button', { name: 'View as table' })
      .click()
    await findRow(page, 'Traffic flow', 'broken-model')
      .getByText('a-backup-with-a-rather-long-name-cn-hangzhou')
      .click()
    await page
      .getByRole('heading', { name: 'a-backup-with-a-rather-long-name-cn-hangzhou', level: 1 })
      .waitFor()
    assert.deepEqual(await checkPage(browser, '/operator/dashboard'), [])
  })
})
