/** How people prove who they are, in a real browser: passkeys, codes, letters, sessions, and being looked at as. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import type { Page } from 'playwright-core'
import { becomeOperator, isIn, visitor, withoutBrowser, type Visitor } from '../../support/console/browser.ts'
import {
  createKey,
  customersPassword,
  dialogOf,
  enterPassword,
  goTo,
  signUp,
  told,
} from '../../support/console/console-steps.ts'
import { openHouse, shareHouse } from '../../support/server/test-server.ts'
import { openMailServer, tokenInLetter } from '../../support/sinks/mail-server.ts'

const skip = withoutBrowser
const house = skip === false ? await shareHouse() : undefined

function theHouse() {
  assert.ok(house)
  return house
}

/** Passkeys belong to a name; an address is none. */
function named(url: string): string {
  return url.replace('127.0.0.1', 'localhost')
}

/** A device that holds passkeys and is unlocked, as chromium's debugger offers it. */
async function plugInDevice({ context, page }: Visitor): Promise<void> {
  const debugging = await context.newCDPSession(page)
  await debugging.send('WebAuthn.enable')
  await debugging.send('WebAuthn.addVirtualAuthenticator', {
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

async function choose(page: Page, item: string): Promise<void> {
  await page
    .getByRole('banner')
    .getByRole('button', { name: /@example\.com$/ })
    .click()
  await page.getByRole('menuitem', { name: item }).click()
}

async function signOut(page: Page): Promise<void> {
  await choose(page, 'Sign out')
  await page.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor()
}

async function openProfile(page: Page): Promise<void> {
  await choose(page, 'Sign-in and security')
  await page.getByRole('heading', { name: 'Sign-in and security', level: 1 }).waitFor()
}

function sectionOf(page: Page, title: string) {
  return page.locator('section').filter({ has: page.getByRole('heading', { name: title, exact: true }) })
}

test(
  'a passkey is added with the password, signs in without one, and is worth nothing once deleted',
  { skip },
  async (t) => {
    const own = await openHouse(t, { env: { PUBLIC_URL: '' } })
    const me = await visitor(t, named(own.url))
    const { page } = me
    await plugInDevice(me)
    await signUp(me, 'ann@example.com')
    await openProfile(page)
    const passkeys = sectionOf(page, 'Passkeys')
    await passkeys.getByText('No passkeys yet.').waitFor()
    await passkeys.getByLabel('Name of the device').fill('My phone')
    await passkeys.getByRole('textbox', { name: 'Current password' }).fill(customersPassword)
    await passkeys.getByRole('button', { name: 'Add a passkey' }).click()
    await told(page, 'The passkey is added.')
    const row = passkeys.getByRole('row', { name: /My phone/ })
    await row.waitFor()

    await signOut(page)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await isIn(page)

    await openProfile(page)
    await row.getByRole('button', { name: 'Delete' }).click()
    const dialog = dialogOf(page, 'Delete the passkey “My phone”?')
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await passkeys.getByText('No passkeys yet.').waitFor()
    await signOut(page)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.getByText('The passkey was not used.').waitFor()
    await own.nothingHeld()
  },
)

test(
  'with an authenticator app a code is asked for, and a recovery code opens once when the app is lost',
  { skip },
  async (t) => {
    const me = await visitor(t, theHouse().url)
    const { page, open } = me
    await signUp(me, 'bea@example.com')
    await openProfile(page)
    await page.getByRole('button', { name: 'Set it up' }).click()
    const dialog = dialogOf(page, 'Second step')
    await dialog.getByRole('textbox', { name: 'Current password' }).fill(customersPassword)
    await dialog.getByRole('button', { name: 'Go on' }).click()
    await dialog.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor()
    const secret = (await dialog.locator('code').textContent()) ?? ''
    const app = new TOTP({ secret: Secret.fromBase32(secret) })
    await dialog.getByLabel('The six digits it shows').fill('000000')
    await dialog.getByRole('button', { name: 'Turn on' }).click()
    await dialog.getByText('This code is not right.').waitFor()
    await dialog.getByLabel('The six digits it shows').fill(app.generate())
    await dialog.getByRole('button', { name: 'Turn on' }).click()
    await dialog.locator('.codes > div').nth(9).waitFor()
    const codes = await dialog.locator('.codes > div').allTextContents()
    assert.equal(codes.length, 10)
    await dialog.getByRole('button', { name: 'I have kept them' }).click()
    await page.getByText('10 recovery codes left').waitFor()
    await signOut(page)

    // A code counts once, also the one that turned it on; so the next is that of the next half minute.
    await enterPassword(me, 'bea@example.com', customersPassword)
    await page.getByRole('heading', { name: 'Second step', level: 1 }).waitFor()
    await page.getByLabel('Code').fill(app.generate({ timestamp: Date.now() + 30_000 }))
    await page.getByRole('button', { name: 'Continue' }).click()
    await isIn(page)
    await signOut(page)

    const [recovery = ''] = codes
    await enterPassword(me, 'bea@example.com', customersPassword)
    await page.getByLabel('Code').fill(recovery)
    await page.getByRole('button', { name: 'Continue' }).click()
    await isIn(page)
    await openProfile(page)
    await page.getByText('9 recovery codes left').waitFor()
    await signOut(page)
    await enterPassword(me, 'bea@example.com', customersPassword)
    await page.getByLabel('Code').fill(recovery)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('This code is not right.').waitFor()
    await open('/sign-in')
  },
)

test(
  'where mail is sent, a letter opens the account, and another one resets a lost password',
  { skip },
  async (t) => {
    const mail = await openMailServer(t)
    const own = await openHouse(t, { env: { SMTP_URL: mail.url } })
    await own.admin('POST', '/promotions', { name: 'Welcome', amount: '2' })
    const me = await visitor(t, own.url)
    const { page, open } = me
    await open('/sign-up')
    await page.getByLabel('E-mail').fill('cleo@example.com')
    await page.getByRole('textbox', { name: 'Password' }).fill(customersPassword)
    await page.getByRole('button', { name: 'Create account' }).click()
    await page.getByRole('heading', { name: 'Check your mail' }).waitFor()
    const letter = `/verify-email#${tokenInLetter(await mail.next())}`
    await page.goto(`/console${letter}`)
    await isIn(page)
    assert.equal(new URL(page.url()).hash, '', 'the token stays in no history')
    await page.getByText('¥2.00').first().waitFor()
    await signOut(page)
    await open(letter)
    await page.getByText('This link is not valid any more. Sign in to get a new one.').waitFor()

    await page.getByRole('link', { name: 'Sign in' }).click()
    await page.getByRole('link', { name: 'Forgot your password?' }).click()
    for (const email of ['nobody@example.com', 'cleo@example.com']) {
      await open('/reset-password')
      await page.getByLabel('E-mail').fill(email)
      await page.getByRole('button', { name: 'Send the link' }).click()
      await page.getByText('If there is an account with this address, a link is on its way.').waitFor()
    }
    // In the window that is open already.
    await page.goto(`/console/reset-password#${tokenInLetter(await mail.next())}`)
    await page.getByRole('textbox', { name: 'New password' }).fill('a new and better harbour')
    await page.getByRole('button', { name: 'Save the password' }).click()
    await page.getByText('Your password is changed. Sign in with it.').waitFor()
    await page.getByRole('link', { name: 'Sign in' }).click()
    await enterPassword(me, 'cleo@example.com', customersPassword)
    await page.getByRole('alert').getByText('E-mail or password is not right.').waitFor()
    await enterPassword(me, 'cleo@example.com', 'a new and better harbour')
    await isIn(page)
    await own.nothingHeld()
  },
)

test(
  'sessions are listed with their browsers, and ended one by one, or all others at once',
  { skip },
  async (t) => {
    const me = await visitor(t, theHouse().url)
    const { page } = me
    await signUp(me, 'dora@example.com')
    const others = [await visitor(t, theHouse().url), await visitor(t, theHouse().url)]
    for (const other of others) {
      await other.open('/sign-in')
      await enterPassword(other, 'dora@example.com', customersPassword)
      await isIn(other.page)
    }
    await openProfile(page)
    const sessions = page.getByRole('table', { name: 'Open sessions' })
    await sessions.getByRole('row', { name: /this one/ }).waitFor()
    const ends = sessions.getByRole('button', { name: 'End', exact: true })
    await ends.nth(1).waitFor()
    assert.equal(await ends.count(), 2, 'not one’s own')
    await ends.first().click()
    const dialog = dialogOf(page, 'End this session?')
    await dialog.getByText(/^Chrome, Linux at 127\.0\.0\.1/).waitFor()
    await dialog.getByRole('button', { name: 'End', exact: true }).click()
    await ends.nth(1).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'End all others' }).click()
    await dialogOf(page, 'End all others').getByRole('button', { name: 'End all others' }).click()
    await ends.first().waitFor({ state: 'detached' })
    for (const other of others) {
      // Their pages ask again by themselves.
      await other.page.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor()
      await other.page.getByText('Your session has ended. Sign in again.').waitFor()
    }
  },
)

test(
  'an operator signs in as a customer: every page says so, it is audited, and it ends',
  { skip },
  async (t) => {
    const customer = await visitor(t, theHouse().url)
    await signUp(customer, 'emma@example.com')
    await goTo(customer.page, 'Keys')
    await createKey(customer.page, 'website')
    const me = await visitor(t, theHouse().url)
    const { page } = me
    await becomeOperator(me, theHouse().log)
    await goTo(page, 'Accounts')
    await page.getByRole('link', { name: 'emma@example.com' }).click()
    await page.getByRole('button', { name: 'Sign in as' }).click()
    const banner = page.getByText('You see the pages of emma@example.com. What you do here is recorded.')
    for (const name of ['Overview', 'Keys', 'Billing']) {
      await goTo(page, name)
      await page.getByRole('heading', { name, level: 1 }).waitFor()
      await banner.waitFor()
    }
    await goTo(page, 'Keys')
    await page.getByRole('row', { name: /website/ }).waitFor()
    await page.getByRole('button', { name: 'Back to your own' }).click()
    await page.getByRole('heading', { name: 'emma@example.com', level: 1 }).waitFor()
    assert.equal(await banner.count(), 0)
    await page.getByRole('link', { name: 'who did what' }).click()
    const audit = page.getByRole('table', { name: 'Audit log' })
    for (const action of ['account.act_end', 'account.act']) {
      await audit
        .getByRole('row')
        .filter({ has: page.getByText(action, { exact: true }) })
        .first()
        .getByText('operator:operator@example.com')
        .waitFor()
    }
  },
)
