// @backend sqlite – the console is the same on both
// @suite all – runs a browser
// @drives a browser
/** The branding in a browser: operators set it, and visitors see it in the console and on the public pages. */
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { createPng } from '../../../src/lib/image-files.fixture.ts'
import {
  browserSkipReason,
  openBrowser,
  setUpOperator,
  sharedBrowserServer,
  type BrowserOptions,
  type BrowserSession,
} from '../../support/console/browser.ts'
import { findDialog, openAsOperator, waitForToast } from '../../support/console/console-steps.ts'
import { findAxeViolations } from '../../support/console/page-checks.ts'
import { startTestServer } from '../../support/server/test-server.ts'
import { startMailServer } from '../../support/sinks/mail-server.ts'

const skip = { skip: browserSkipReason }
const testServer = await sharedBrowserServer({ env: { SIGN_UP: 'open' } })
const colors = { light: '#8a1c5c', dark: '#f29ac9' }
const empty = { name: null, logo: null, colors: null, links: null, terms: null, privacy: null, support: null }
const logoFile = (buffer: Buffer) => ({ name: 'logo.png', mimeType: 'image/png', buffer })

async function openForm(t: TestContext, options?: BrowserOptions): Promise<BrowserSession> {
  const browser = await openAsOperator(t, testServer(), options)
  await browser.open('/operator/branding?edit=yes')
  return browser
}

/** The colour of the first element, as the browser renders it. */
function colorOf(page: Page, selector: string, property: string): Promise<string> {
  return page.evaluate<string>(
    `getComputedStyle(document.querySelector(${JSON.stringify(selector)})).${property}`,
  )
}

describe('Branding in a browser', () => {
  test(
    'name, logo and colours – show on the sign-in page, in e-mails and on the status page',
    skip,
    async (t) => {
      const mail = await startMailServer(t)
      const server = await startTestServer(t, { env: { SMTP_URL: mail.url, PUBLIC_PRICES: '1' } })
      await server.model('m', { upstreams: [await server.upstreamAt('https://upstream.example/v1')] })
      const operator = await openBrowser(t, server.url)
      await setUpOperator(operator, server)
      await operator.open('/operator/branding?edit=yes')
      const { page } = operator
      const dialog = findDialog(page, 'Edit branding')
      await dialog.getByLabel('Service name').fill('Acme AI')
      await dialog
        .getByLabel('Logo', { exact: true })
        .setInputFiles(logoFile(createPng({ width: 90, height: 30 })))
      await dialog.getByRole('img', { name: 'Logo on a dark background' }).waitFor()
      await dialog.getByLabel('Light theme', { exact: true }).fill(colors.light)
      await dialog.getByLabel('Dark theme', { exact: true }).fill(colors.dark)
      await dialog.getByLabel('Terms of service').fill('Be kind.')
      await dialog.getByLabel('Privacy policy').fill('https://acme.example/privacy')
      await dialog.getByLabel('Support contact').fill('help@acme.example')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await waitForToast(page, 'Saved.')
      await page.getByRole('navigation').getByText('Acme AI').waitFor()
      assert.equal(await page.title(), 'Branding · Acme AI')
      await page.getByRole('button', { name: 'operator@example.com' }).click()
      const support = page.getByRole('menuitem', { name: /Support/ })
      assert.equal(await support.getAttribute('href'), 'mailto:help@acme.example')

      const visitor = await openBrowser(t, server.url)
      await visitor.open('/sign-in')
      assert.equal(await visitor.page.title(), 'Sign in · Acme AI')
      assert.deepEqual(
        await visitor.page.evaluate(`(() => {
        const { naturalWidth, naturalHeight, complete } = document.querySelector('.brand img')
        return [naturalWidth, naturalHeight, complete]
      })()`),
        [90, 30, true],
      )
      assert.equal(await colorOf(visitor.page, 'button[type=submit]', 'backgroundColor'), 'rgb(138, 28, 92)')
      assert.equal(await visitor.page.getByText('Sluice').count(), 0)
      await visitor.page.getByRole('link', { name: 'Create an account' }).click()
      await visitor.page.getByText('By creating an account, you accept the terms of service').waitFor()
      await visitor.page.getByLabel('E-mail').fill('ann@example.com')
      await visitor.page.getByRole('textbox', { name: 'Password' }).fill('a quiet harbour at noon')
      await visitor.page.getByRole('button', { name: 'Create account' }).click()
      await visitor.page.getByRole('heading', { name: 'Check your e-mail' }).waitFor()
      assert.match(await mail.next(), /^Subject: \[Acme AI\] Confirm your e-mail address\r$/m)

      for (const path of ['/status', '/terms', '/pricing']) {
        await visitor.page.goto(path)
        await visitor.page.getByText('Acme AI').waitFor()
        assert.equal(await visitor.page.evaluate(`document.querySelector('.brand img').naturalWidth`), 90)
        assert.equal(await colorOf(visitor.page, 'a', 'color'), 'rgb(138, 28, 92)')
      }
      await visitor.page.getByRole('row', { name: /^m 131,072 tokens 2\.00/ }).waitFor()
      for (const colorScheme of ['light', 'dark'] as const) {
        await visitor.page.emulateMedia({ colorScheme })
        assert.deepEqual(await findAxeViolations(visitor.page), [], colorScheme)
      }
      assert.equal(await colorOf(visitor.page, 'a', 'color'), 'rgb(242, 154, 201)')
    },
  )

  test('rejected fields – have their message beside them, and nothing is saved', skip, async (t) => {
    await testServer().admin('PUT', '/branding', { ...empty, name: 'Acme AI' })
    const { page } = await openForm(t)
    const dialog = findDialog(page, 'Edit branding')
    const save = dialog.getByRole('button', { name: 'Save' })
    const logo = dialog.getByLabel('Logo', { exact: true })
    await dialog.getByLabel('Service name').fill('Bravo AI')
    await logo.setInputFiles(logoFile(createPng({ width: 1100, height: 20 })))
    await save.click()
    await dialog.getByText('at most 1024 pixels on each side, and has 1100 × 20').waitFor()
    await logo.setInputFiles(logoFile(createPng().subarray(0, -9)))
    await save.click()
    await dialog.getByText('must be a complete PNG, JPEG or WebP image').waitFor()
    await logo.setInputFiles(logoFile(createPng({ commentBytes: 300 * 1024 })))
    await dialog.getByText('This file is larger than 256 KiB.').waitFor()
    await dialog.getByRole('button', { name: 'Remove logo' }).click()
    await dialog.getByLabel('Light theme', { exact: true }).fill('#767676')
    await dialog.getByLabel('Dark theme', { exact: true }).fill(colors.dark)
    await save.click()
    await dialog
      .getByText('contrast of at least 4.5 on the backgrounds of the light theme, and has 4.08')
      .waitFor()
    await dialog.getByLabel('Light theme', { exact: true }).fill(colors.light)
    await dialog.getByRole('button', { name: 'Add link' }).click()
    await dialog.getByLabel('Label').fill('Docs')
    await dialog.getByPlaceholder('https://').fill('javascript:alert(1)')
    await save.click()
    await dialog.getByText('must be an https URL').waitFor()
    const branding = await testServer().admin<{ name: string }>('GET', '/branding')
    assert.equal(branding.name, 'Acme AI')
  })

  test('Undo – restores everything, with the earlier logo', skip, async (t) => {
    const earlier = createPng({ width: 20, height: 20, color: [1, 2, 3] }).toString('base64')
    await testServer().admin('PUT', '/branding', { ...empty, name: 'Acme AI', logo: earlier, colors })
    const before = await testServer().admin('GET', '/branding')
    const { page } = await openForm(t)
    const dialog = findDialog(page, 'Edit branding')
    await dialog.getByLabel('Service name').fill('Bravo AI')
    await dialog.getByLabel('Logo', { exact: true }).setInputFiles(logoFile(createPng()))
    await dialog.getByLabel('Light theme', { exact: true }).fill('')
    await dialog.getByLabel('Dark theme', { exact: true }).fill('')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('navigation').getByText('Bravo AI').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('navigation').getByText('Acme AI').waitFor()
    assert.deepEqual(await testServer().admin('GET', '/branding'), before)
    assert.equal(await colorOf(page, '.page-header button', 'backgroundColor'), 'rgb(138, 28, 92)')
  })

  test('Chinese on a phone – fits, and is saved by keyboard alone', skip, async (t) => {
    await testServer().admin('PUT', '/branding', empty)
    const { page, open } = await openForm(t, { scheme: 'dark' })
    await page.setViewportSize({ width: 390, height: 844 })
    await page.evaluate(`localStorage.setItem('sluice.language', 'zh-CN')`)
    await open('/operator/branding?edit=yes')
    const name = page.getByLabel('服务名称')
    await name.focus()
    await page.keyboard.type('晨星智能')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    assert.equal(await page.title(), '品牌设置 · 晨星智能')
    const width = await page.evaluate<number>('document.documentElement.scrollWidth')
    assert.ok(width <= 390, `${width} px`)
  })
})
