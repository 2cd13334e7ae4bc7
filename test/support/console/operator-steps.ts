/** What an operator sets up in the console before the first request: upstream, model, price, account, credit. */
import type { Page } from 'playwright-core'
import { operatorPassword } from './browser.ts'
import { findDialog, goToPage } from './console-steps.ts'

/** In a session that was not confirmed: a new upstream requires the password again. */
export async function addUpstream(page: Page, name: string, url: string): Promise<void> {
  const dialog = findDialog(page)
  await goToPage(page, 'Upstreams')
  await page.getByRole('button', { name: 'Add upstream' }).first().click()
  await dialog.getByLabel('Provider').selectOption('openai-compatible')
  await dialog.getByLabel('Name').fill(name)
  await dialog.getByLabel('Base URL').fill(url)
  await dialog.getByRole('textbox', { name: 'Credential' }).fill('sk-upstream')
  await dialog.getByRole('button', { name: 'Save and test' }).click()
  await dialog.getByRole('textbox', { name: 'Password' }).fill(operatorPassword)
  await dialog.getByRole('button', { name: 'Continue' }).click()
  await dialog.getByLabel('Test model').fill('any')
  await dialog.getByRole('button', { name: 'Test', exact: true }).click()
  await dialog.getByText(/Test passed in/).waitFor()
  await dialog.getByRole('button', { name: 'Enable' }).click()
  await page.getByRole('row', { name }).getByText('Active', { exact: true }).waitFor()
}

/** With a route that exposes the upstream's name for the model. */
export async function addModel(page: Page, name: string): Promise<void> {
  const dialog = findDialog(page)
  await goToPage(page, 'Models and prices')
  await page.getByRole('button', { name: 'Add model' }).first().click()
  await dialog.getByRole('textbox', { name: 'Model', exact: true }).fill(name)
  await dialog.getByLabel('Context').fill('8192')
  await dialog.getByRole('textbox', { name: 'Input', exact: true }).fill('0.002')
  await dialog.getByRole('textbox', { name: 'Output', exact: true }).fill('0.004')
  await dialog.getByRole('button', { name: 'Add route' }).click()
  await dialog.getByLabel('Upstream model').fill(`real-${name}`)
  await dialog.getByLabel('Show the upstream’s name for the model in responses').check()
  await dialog.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { name, level: 1 }).waitFor()
}

/** On the page of a model. */
export async function changePrice(page: Page, output: string): Promise<void> {
  const dialog = findDialog(page)
  await page.getByRole('button', { name: 'Change price' }).click()
  await dialog.getByRole('textbox', { name: 'Output', exact: true }).fill(output)
  await dialog.getByRole('button', { name: 'Change price' }).click()
  await page
    .getByRole('row', { name: /Current/ })
    .getByText(`¥${output}`)
    .waitFor()
}

export async function createAccount(page: Page, email: string): Promise<void> {
  const dialog = findDialog(page)
  await goToPage(page, 'Accounts')
  await page.getByRole('button', { name: 'Create account' }).first().click()
  await dialog.getByLabel('E-mail').fill(email)
  await dialog.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { name: email, level: 1 }).waitFor()
}

/** On the page of an account. */
export async function creditAccount(page: Page, amount: string): Promise<void> {
  const dialog = findDialog(page)
  await page.getByRole('button', { name: 'Add credit', exact: true }).click()
  await dialog.getByLabel('Amount').fill(amount)
  await dialog.getByLabel('Reason').fill('Bank transfer')
  await dialog.getByRole('button', { name: 'Add credit', exact: true }).click()
  await page
    .getByRole('row', { name: /Bank transfer/ })
    .getByText('¥12.50', { exact: true })
    .first()
    .waitFor()
}
