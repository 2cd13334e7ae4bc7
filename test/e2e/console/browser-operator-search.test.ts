// @backend both (cluster in long runs)
// @suite all – runs a browser
// @drives a browser
/** An operator finds accounts and requests by what people know them by, and reads exact times. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { chatRequest } from '../../support/server/account.ts'
import { browserSkipReason, sharedBrowserServer } from '../../support/console/browser.ts'
import { openAsOperator } from '../../support/console/console-steps.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

const skip = { skip: browserSkipReason }
const testServer = await sharedBrowserServer()
const laptop = { name: 'laptop', expires_at: '2099-12-01T12:00:00Z' }
before(async () => {
  if (browserSkipReason !== false) return
  const server = testServer()
  const upstream = await server.upstream(respondWith('Hello!', { input: 10, output: 5 }), {
    prices: { input: '0.001', output: '0.001' },
  })
  await server.model('m', { upstreams: [upstream] })
  const li = { email: 'Li@harbour.example', name: '深圳市海港科技有限公司', balance: '1', key: laptop }
  const ann = { email: 'ann@shop.example', name: 'Ann', balance: '1', key: { name: 'Laptop' } }
  for (const settings of [li, ann]) {
    const account = await server.account(settings)
    await (await account.post(chatRequest('m'))).text()
  }
  await waitUntil(async () => (await testServer().requests()).length === 2, 'both requests')
})

async function filterBy(page: Page, label: string, text: string): Promise<void> {
  await page.getByLabel(label, { exact: true }).fill(text)
  await page.getByRole('button', { name: 'Apply' }).click()
}

describe('Search by an operator in a browser', () => {
  test('Accounts – are found by part of an e-mail address or a name', skip, async (t) => {
    const { page, open } = await openAsOperator(t, testServer())
    await open('/operator/accounts')
    const rows = page.getByRole('table', { name: 'Accounts' }).locator('tbody').getByRole('row')
    for (const text of ['HARBOUR', '海港科技', 'li@']) {
      await filterBy(page, 'E-mail, name or ID', '')
      await rows.nth(1).waitFor()
      await filterBy(page, 'E-mail, name or ID', text)
      await rows.nth(1).waitFor({ state: 'detached' })
      await rows.getByRole('link', { name: 'Li@harbour.example' }).waitFor()
    }
    await filterBy(page, 'E-mail, name or ID', 'nobody')
    await page.getByRole('heading', { name: 'No matching accounts' }).waitFor()
    assert.equal(new URL(page.url()).search, '?q=nobody')
  })

  test('Requests – are filtered by an e-mail address and the name of a key', skip, async (t) => {
    const { page, open } = await openAsOperator(t, testServer())
    await open('/operator/requests')
    const rows = page.getByRole('table', { name: 'Requests' }).locator('tbody').getByRole('row')
    await rows.nth(1).waitFor()
    await filterBy(page, 'Account', 'li@HARBOUR.example')
    await rows.nth(1).waitFor({ state: 'detached' })
    await rows.getByRole('link', { name: 'Li@harbour.example' }).waitFor()
    await rows.getByText('laptop').waitFor()
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Export CSV' }).click()
    const csv = await readFile(await (await download).path(), 'utf8')
    assert.equal(csv.trim().split('\r\n').length, 2, csv)

    await filterBy(page, 'Account', 'nobody@harbour.example')
    await page.getByRole('heading', { name: 'No account matches “nobody@harbour.example”' }).waitFor()
    await open('/operator/requests?key=laptop')
    await page.getByRole('heading', { name: 'Which API key is “laptop”?' }).waitFor()
    await page.getByRole('link', { name: /^Laptop · sk-slu-.* · ann@shop\.example$/ }).click()
    await rows.getByRole('link', { name: 'ann@shop.example' }).waitFor()
    assert.equal(await rows.count(), 1)
    await filterBy(page, 'API key', 'sk-slu-none')
    await page.getByRole('heading', { name: 'No API key matches “sk-slu-none”' }).waitFor()
  })

  test('Logs and details – show exact times, with the relative time on hover, and names', skip, async (t) => {
    const { page, open } = await openAsOperator(t, testServer())
    for (const [path, table] of [
      ['requests', 'Requests'],
      ['audit', 'Audit log'],
    ] as const) {
      await open(`/operator/${path}`)
      const time = page.getByRole('table', { name: table }).locator('time').first()
      assert.match((await time.textContent()) ?? '', /^\w{3} \d{1,2}, \d\d:\d\d:\d\d$/, path)
      await time.hover()
      assert.match((await time.getAttribute('title')) ?? '', /^(now|.* ago), \w+ \d+, \d{4}/, path)
    }
    await open('/operator/requests?key=laptop&account=li@harbour.example')
    await page.getByRole('table', { name: 'Requests' }).locator('tbody').getByRole('row').click()
    const facts = page.locator('.description-list')
    await facts.getByRole('link', { name: 'Li@harbour.example' }).waitFor()
    await facts.getByRole('link', { name: 'laptop' }).waitFor()
    await open('/operator/keys?q=li@harbour')
    await page.getByRole('table', { name: 'All API keys' }).getByText('2099-12-01', { exact: true }).waitFor()
  })
})
