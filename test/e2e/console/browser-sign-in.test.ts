// @backend both (cluster in long runs)
// @suite all – runs a browser
// @drives a browser
/** Sign-in in a browser: passkeys, authenticator apps, e-mail links, sessions and impersonation. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import type { Page } from 'playwright-core'
import {
  waitUntilSignedIn,
  openBrowser,
  browserSkipReason,
  sharedBrowserServer,
  type BrowserSession,
} from '../../support/console/browser.ts'
import {
  chooseAction,
  createKey,
  customerPassword,
  enterPassword,
  findDialog,
  goToPage,
  openAsOperator,
  signIn,
  signUp,
  waitForToast,
} from '../../support/console/console-steps.ts'
import { startTestServer } from '../../support/server/test-server.ts'
import { startMailServer, tokenInEmail } from '../../support/sinks/mail-server.ts'

const skip = browserSkipReason
const testServer = await sharedBrowserServer()

/** Passkeys need a host name, not an IP address. */
function withHostName(url: string): string {
  return url.replace('127.0.0.1', 'localhost')
}

/** Adds chromium's virtual authenticator: an unlocked device that stores passkeys. */
async function addAuthenticator({ context, page }: BrowserSession): Promise<void> {
  const devtools = await context.newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
}

async function chooseMenuItem(page: Page, item: string): Promise<void> {
  await page
    .getByRole('banner')
    .getByRole('button', { name: /@example\.com$/ })
    .click()
  await page.getByRole('menuitem', { name: item }).click()
}

async function signOut(page: Page): Promise<void> {
  await chooseMenuItem(page, 'Sign out')
  await page.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor()
}

async function openProfile(page: Page): Promise<void> {
  await chooseMenuItem(page, 'Sign-in and security')
  await page.getByRole('heading', { name: 'Sign-in and security', level: 1 }).waitFor()
}

function findSection(page: Page, title: string) {
  return page.locator('section').filter({ has: page.getByRole('heading', { name: title, exact: true }) })
}

describe('Sign-in in a browser', () => {
  test(
    'Passkey – is added with the password, signs in without it, and stops once deleted',
    { skip },
    async (t) => {
      const browser = await openBrowser(t, withHostName(testServer().url))
      const { page } = browser
      await addAuthenticator(browser)
      await signUp(browser, 'ann@example.com')
      await openProfile(page)
      const passkeys = findSection(page, 'Passkeys')
      await passkeys.getByText('No passkeys yet.').waitFor()
      await passkeys.getByLabel('Device name').fill('My phone')
      await passkeys.getByRole('textbox', { name: 'Current password' }).fill(customerPassword)
      await passkeys.getByRole('button', { name: 'Add passkey' }).click()
      await waitForToast(page, 'Passkey added.')
      const row = passkeys.getByRole('row', { name: /My phone/ })
      await row.waitFor()

      await signOut(page)
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
      await waitUntilSignedIn(page)

      await openProfile(page)
      await chooseAction(page, row, 'Delete')
      const dialog = findDialog(page, 'Delete the passkey “My phone”?')
      await dialog.getByRole('button', { name: 'Delete' }).click()
      await passkeys.getByText('No passkeys yet.').waitFor()
      await signOut(page)
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
      await page.getByText('Passkey sign-in failed.').waitFor()
    },
  )

  test('Authenticator app – asks for a code, and a recovery code works once', { skip }, async (t) => {
    const browser = await openBrowser(t, testServer().url)
    const { page, open } = browser
    await signUp(browser, 'bea@example.com')
    await openProfile(page)
    await page.getByRole('button', { name: 'Set up' }).click()
    const dialog = findDialog(page, 'Two-factor authentication')
    await dialog.getByRole('textbox', { name: 'Current password' }).fill(customerPassword)
    await dialog.getByRole('button', { name: 'Continue' }).click()
    await dialog.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor()
    const secret = (await dialog.locator('code').textContent()) ?? ''
    const app = new TOTP({ secret: Secret.fromBase32(secret) })
    await dialog.getByLabel('6-digit code').fill('000000')
    await dialog.getByRole('button', { name: 'Turn on' }).click()
    await dialog.getByText('Incorrect code.').waitFor()
    await dialog.getByLabel('6-digit code').fill(app.generate())
    await dialog.getByRole('button', { name: 'Turn on' }).click()
    await dialog.locator('.codes > div').nth(9).waitFor()
    const codes = await dialog.locator('.codes > div').allTextContents()
    assert.equal(codes.length, 10)
    await dialog.getByRole('button', { name: 'Done, I’ve saved it' }).click()
    await page.getByText('10 recovery codes left').waitFor()
    await signOut(page)

    // Each code works once, including the one that enabled the app, so use that of the next 30 s.
    await enterPassword(browser, 'bea@example.com', customerPassword)
    await page.getByRole('heading', { name: 'Two-factor authentication', level: 1 }).waitFor()
    await page.getByLabel('Code').fill(app.generate({ timestamp: Date.now() + 30_000 }))
    await page.getByRole('button', { name: 'Continue' }).click()
    await waitUntilSignedIn(page)
    await signOut(page)

    const [recovery = ''] = codes
    await enterPassword(browser, 'bea@example.com', customerPassword)
    await page.getByLabel('Code').fill(recovery)
    await page.getByRole('button', { name: 'Continue' }).click()
    await waitUntilSignedIn(page)
    await openProfile(page)
    await page.getByText('9 recovery codes left').waitFor()
    await signOut(page)
    await enterPassword(browser, 'bea@example.com', customerPassword)
    await page.getByLabel('Code').fill(recovery)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('Incorrect code.').waitFor()
    await open('/sign-in')
  })

  test('E-mail links – open the account and reset a lost password', { skip }, async (t) => {
    const mail = await startMailServer(t)
    const dedicated = await startTestServer(t, { env: { SMTP_URL: mail.url } })
    await dedicated.admin('POST', '/promotions', { name: 'Welcome', amount: '2' })
    const browser = await openBrowser(t, dedicated.url)
    const { page, open } = browser
    await open('/sign-up')
    await page.getByLabel('E-mail').fill('cleo@example.com')
    await page.getByRole('textbox', { name: 'Password' }).fill(customerPassword)
    await page.getByRole('button', { name: 'Create account' }).click()
    await page.getByRole('heading', { name: 'Check your e-mail' }).waitFor()
    const verifyPath = `/verify-email#${tokenInEmail(await mail.next())}`
    await page.goto(`/console${verifyPath}`)
    await waitUntilSignedIn(page)
    assert.equal(new URL(page.url()).hash, '', 'the token is not kept in the history')
    await page.getByText('¥2.00').first().waitFor()
    await signOut(page)
    await open(verifyPath)
    await page.getByText('This link is invalid or has expired. Sign in to get a new one.').waitFor()

    await page.getByRole('link', { name: 'Sign in' }).click()
    await page.getByRole('link', { name: 'Forgot your password?' }).click()
    for (const email of ['nobody@example.com', 'cleo@example.com']) {
      await open('/reset-password')
      await page.getByLabel('E-mail').fill(email)
      await page.getByRole('button', { name: 'Send reset link' }).click()
      await page.getByText('If an account exists for this address, we have sent a reset link.').waitFor()
    }
    // In the same window.
    await page.goto(`/console/reset-password#${tokenInEmail(await mail.next())}`)
    await page.getByRole('textbox', { name: 'New password' }).fill('a new and better harbour')
    await page.getByRole('button', { name: 'Save password' }).click()
    await page.getByText('Your password has been changed. Sign in with the new password.').waitFor()
    await page.getByRole('link', { name: 'Sign in' }).click()
    await enterPassword(browser, 'cleo@example.com', customerPassword)
    await page.getByRole('alert').getByText('Incorrect e-mail address or password.').waitFor()
    await enterPassword(browser, 'cleo@example.com', 'a new and better harbour')
    await waitUntilSignedIn(page)
    await dedicated.assertNoOpenHolds()
  })

  test(
    'Sessions – are listed with their browsers and ended one by one or all at once',
    { skip },
    async (t) => {
      const browser = await openBrowser(t, testServer().url)
      const { page } = browser
      await signUp(browser, 'dora@example.com')
      const signInAgain = async (): Promise<BrowserSession> => {
        const other = await openBrowser(t, testServer().url)
        await signIn(other, 'dora@example.com', customerPassword)
        return other
      }
      const others = await Promise.all([signInAgain(), signInAgain()])
      await openProfile(page)
      const sessions = page.getByRole('table', { name: 'Active sessions' })
      await sessions.getByRole('row', { name: /Current session/ }).waitFor()
      const ended = sessions.getByRole('row').filter({ has: page.getByRole('button') })
      await ended.nth(1).waitFor()
      assert.equal(await ended.count(), 2, 'not the current session')
      await chooseAction(page, ended.first(), 'Revoke')
      const dialog = findDialog(page, 'Revoke this session?')
      await dialog.getByText(/^Chrome, Linux at 127\.0\.0\.1/).waitFor()
      await dialog.getByRole('button', { name: 'Revoke', exact: true }).click()
      await ended.nth(1).waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Revoke all other sessions' }).click()
      await findDialog(page, 'Revoke all other sessions')
        .getByRole('button', { name: 'Revoke all other sessions' })
        .click()
      await ended.first().waitFor({ state: 'detached' })
      for (const other of others) {
        // Their pages refresh without a click.
        await other.page.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor()
        await other.page.getByText('Your session has ended. Sign in again.').waitFor()
      }
    },
  )

  test('Impersonation – every page shows it, it is audited, and it can be ended', { skip }, async (t) => {
    const customer = await openBrowser(t, testServer().url)
    await signUp(customer, 'emma@example.com')
    await goToPage(customer.page, 'API keys')
    await createKey(customer.page, 'website')
    const { page } = await openAsOperator(t, testServer())
    await goToPage(page, 'Accounts')
    await page.getByRole('link', { name: 'emma@example.com' }).click()
    await page.getByRole('button', { name: 'View as customer' }).click()
    const banner = page.getByText('Viewing as emma@example.com, read-only. This view is logged.')
    for (const name of ['Overview', 'API keys', 'Billing']) {
      await goToPage(page, name)
      await page.getByRole('heading', { name, level: 1 }).waitFor()
      await banner.waitFor()
    }
    await goToPage(page, 'API keys')
    await page.getByRole('row', { name: /website/ }).waitFor()
    await page.getByRole('button', { name: 'Exit customer view' }).click()
    await page.getByRole('heading', { name: 'emma@example.com', level: 1 }).waitFor()
    assert.equal(await banner.count(), 0)
    await page.getByRole('link', { name: 'Activity' }).click()
    const audit = page.getByRole('table', { name: 'Audit log' })
    for (const action of ['Impersonation ended', 'Impersonation started']) {
      await audit
        .getByRole('row')
        .filter({ has: page.getByText(action, { exact: true }) })
        .first()
        .getByText('operator:operator@example.com')
        .waitFor()
    }
  })
})
