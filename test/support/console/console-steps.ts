/** Steps that browser tests share. Each step selects exactly one element of the page. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import type { TestServer } from '../server/test-server.ts'
import {
  openBrowser,
  operatorPassword,
  setUpOperator,
  waitUntilSignedIn,
  type BrowserOptions,
  type BrowserSession,
} from './browser.ts'

export const customerPassword = 'a gate holds the water back'

/** Opens a page from the menu. */
export async function goToPage(page: Page, name: string): Promise<void> {
  const menu = page.getByRole('navigation', { name: 'Main menu' })
  await menu.getByRole('link', { name, exact: true }).click()
  await menu.locator('a[aria-current="page"]').filter({ hasText: name }).first().waitFor()
}

/** Waits for a toast with this text. An earlier toast may still be shown. */
export async function waitForToast(page: Page, text: string): Promise<void> {
  await page.locator('.toast').getByText(text, { exact: true }).first().waitFor()
}

/** Opens the menu of a table row and chooses an action. */
export async function chooseAction(page: Page, row: Locator, name: string): Promise<void> {
  await row.getByRole('button', { name: /^Actions for / }).click()
  await page.getByRole('menuitem', { name, exact: true }).click()
}

/** The open dialog, or the one with this title. */
export function findDialog(page: Page, title?: string): Locator {
  return title === undefined
    ? page.getByRole('dialog')
    : page.getByRole('dialog', { name: title, exact: true })
}

export async function signUp(
  { page, open }: BrowserSession,
  email: string,
  codes: { readonly invite?: string; readonly promotion?: string; readonly referral?: string } = {},
): Promise<void> {
  const { invite, promotion, referral } = codes
  await open(referral === undefined ? '/sign-up' : `/sign-up?referral=${referral}`)
  await page.getByLabel('E-mail').fill(email)
  await page.getByRole('textbox', { name: 'Password' }).fill(customerPassword)
  if (invite !== undefined) await page.getByLabel('Invite code').fill(invite)
  if (promotion !== undefined) {
    await page.getByRole('button', { name: 'I have a promotion code' }).click()
    await page.getByLabel('Promotion code').fill(promotion)
  }
  await page.getByRole('button', { name: 'Create account' }).click()
  await waitUntilSignedIn(page)
}

/** Opens a browser that is signed in as a new customer. */
export async function openAsNewCustomer(
  t: TestContext,
  server: TestServer,
  email: string,
): Promise<BrowserSession> {
  const browser = await openBrowser(t, server.url)
  await signUp(browser, email)
  return browser
}

export async function enterPassword(
  { page }: BrowserSession,
  email: string,
  password: string,
): Promise<void> {
  await page.getByLabel('E-mail').fill(email)
  await page.getByRole('textbox', { name: 'Password' }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

export async function signIn(browser: BrowserSession, email: string, password: string): Promise<void> {
  await browser.open('/sign-in')
  await enterPassword(browser, email, password)
  await waitUntilSignedIn(browser.page)
}

/** Signs in as the operator that `setUpOperator` created. */
export function signInAsOperator(browser: BrowserSession): Promise<void> {
  return signIn(browser, 'operator@example.com', operatorPassword)
}

const serversWithOperator = new WeakSet<TestServer>()

/** Opens a browser that is signed in as the operator, which the first call for a server creates. */
export async function openAsOperator(
  t: TestContext,
  server: TestServer,
  options?: BrowserOptions,
): Promise<BrowserSession> {
  const browser = await openBrowser(t, server.url, options)
  if (serversWithOperator.has(server)) await signInAsOperator(browser)
  else await setUpOperator(browser, server)
  serversWithOperator.add(server)
  return browser
}

/** Redeems a voucher and waits for this toast. */
export async function redeemVoucher(page: Page, code: string, toast: string): Promise<void> {
  await goToPage(page, 'Billing')
  await page.getByLabel('Voucher code').fill(code)
  await page.getByRole('button', { name: 'Redeem' }).click()
  await waitForToast(page, toast)
}

/** Creates a key on the page of keys and leaves its dialog open; returns the secret. */
export async function createKey(page: Page, name: string): Promise<string> {
  const dialog = findDialog(page, 'Create API key')
  await page.getByRole('button', { name: 'Create API key' }).first().click()
  await dialog.getByLabel('Name').fill(name)
  await dialog.getByRole('button', { name: 'Create', exact: true }).click()
  const secret = (await dialog.locator('.secret code').textContent()) ?? ''
  assert.match(secret, /^sk-slu-/)
  return secret
}

export async function confirmKeySaved(page: Page): Promise<void> {
  await findDialog(page).getByRole('button', { name: 'Done, I’ve saved it' }).click()
  await findDialog(page).waitFor({ state: 'detached' })
}

/** Sets the account's daily cap; '' removes it. */
export async function setDailyCap(page: Page, amount: string): Promise<void> {
  await goToPage(page, 'Billing')
  await page.getByRole('button', { name: 'Set caps' }).click()
  const dialog = findDialog(page, 'Set caps')
  await dialog.getByLabel('Daily cap').fill(amount)
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })
}

/** One tile of figures on the page, by its name. */
export function findFigure(page: Page, name: string): Locator {
  return page.locator('.tile').filter({ has: page.locator('dt').getByText(name, { exact: true }) })
}

/** Checks that a task takes at most this many mouse clicks. Typing and Enter do not count. */
export async function assertMaxClicks(
  t: TestContext,
  browser: BrowserSession,
  maxClicks: number,
  act: () => Promise<void>,
): Promise<void> {
  const before = await browser.countClicks()
  await act()
  const count = (await browser.countClicks()) - before
  t.diagnostic(`${t.name}: ${count}`)
  assert.ok(count > 0 && count <= maxClicks, `${count} clicks, at most ${maxClicks} are allowed`)
}
