/** What stories do at the console again and again. Each step names one thing on the page, however much else is there. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { isIn, operatorsPassword, type Visitor } from './browser.ts'

export const customersPassword = 'a gate holds the water back'

/** Goes to a page by the menu. */
export async function goTo(page: Page, name: string): Promise<void> {
  const menu = page.getByRole('navigation', { name: 'Pages' })
  await menu.getByRole('link', { name, exact: true }).click()
  await menu.locator('a[aria-current="page"]').filter({ hasText: name }).first().waitFor()
}

/** Waits for the short word that something was done. An earlier one may still be there. */
export async function told(page: Page, words: string): Promise<void> {
  await page.locator('.toast').getByText(words, { exact: true }).first().waitFor()
}

/** The dialogue that is open; with a title, that one. */
export function dialogOf(page: Page, title?: string): Locator {
  return title === undefined
    ? page.getByRole('dialog')
    : page.getByRole('dialog', { name: title, exact: true })
}

export async function signUp({ page, open }: Visitor, email: string, promotion?: string): Promise<void> {
  await open('/sign-up')
  await page.getByLabel('E-mail').fill(email)
  await page.getByRole('textbox', { name: 'Password' }).fill(customersPassword)
  if (promotion !== undefined) {
    await page.getByRole('button', { name: 'I have a promotion code' }).click()
    await page.getByLabel('Promotion code').fill(promotion)
  }
  await page.getByRole('button', { name: 'Create account' }).click()
  await isIn(page)
}

export async function enterPassword({ page }: Visitor, email: string, password: string): Promise<void> {
  await page.getByLabel('E-mail').fill(email)
  await page.getByRole('textbox', { name: 'Password' }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** Signs in as the operator whom `becomeOperator` made. */
export async function signInAsOperator(me: Visitor): Promise<void> {
  await me.open('/sign-in')
  await enterPassword(me, 'operator@example.com', operatorsPassword)
  await isIn(me.page)
}

/** Redeems a voucher; `told` is what has to be said of it. */
export async function redeem(page: Page, code: string, words: string): Promise<void> {
  await goTo(page, 'Billing')
  await page.getByLabel('Voucher code').fill(code)
  await page.getByRole('button', { name: 'Redeem' }).click()
  await told(page, words)
}

/** Makes a key with this name, from the page of keys, and leaves it shown: its secret. */
export async function createKey(page: Page, name: string): Promise<string> {
  const dialog = dialogOf(page, 'Create a key')
  await page.getByRole('button', { name: 'Create a key' }).first().click()
  await dialog.getByLabel('Name').fill(name)
  await dialog.getByRole('button', { name: 'Create', exact: true }).click()
  const secret = (await dialog.locator('.secret code').textContent()) ?? ''
  assert.match(secret, /^sk-slu-/)
  return secret
}

export async function keepKey(page: Page): Promise<void> {
  await dialogOf(page).getByRole('button', { name: 'I have kept it' }).click()
  await dialogOf(page).waitFor({ state: 'detached' })
}

/** Sets the account's cap a day; '' takes it away. */
export async function setDailyCap(page: Page, amount: string): Promise<void> {
  await goTo(page, 'Billing')
  await page.getByRole('button', { name: 'Set caps' }).click()
  const dialog = dialogOf(page, 'Set caps')
  await dialog.getByLabel('Cap per day').fill(amount)
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })
}

/** One figure of a page, by its name. */
export function figure(page: Page, name: string): Locator {
  return page.locator('.tile').filter({ has: page.locator('dt').getByText(name, { exact: true }) })
}

/** Does something and holds it to a number of presses of the mouse. What is typed, and Enter, is no press. */
export async function inClicks(
  t: TestContext,
  me: Visitor,
  most: number,
  act: () => Promise<void>,
): Promise<void> {
  const before = await me.clicks()
  await act()
  const count = (await me.clicks()) - before
  t.diagnostic(`${t.name}: ${count}`)
  assert.ok(count > 0 && count <= most, `${count} clicks, and at most ${most} are promised`)
}
