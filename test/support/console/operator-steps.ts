/** What an operator does at the console before anybody can call: upstream, model, price, account, money. */
import type { Page } from 'playwright-core'
import { dialogOf, goTo } from './console-steps.ts'

export async function addUpstream(page: Page, name: string, url: string): Promise<void> {
  const dialog = dialogOf(page)
  await goTo(page, 'Upstreams')
  await page.getByRole('button', { name: 'Add an upstream' }).first().click()
  await dialog.getByLabel('Provider').selectOption('openai-compatible')
  await dialog.getByLabel('Name').fill(name)
  await dialog.getByLabel('Address').fill(url)
  await dialog.getByRole('textbox', { name: 'Credential' }).fill('sk-upstream')
  await dialog.getByRole('button', { name: 'Save and test' }).click()
  await dialog.getByLabel('Model to ask').fill('any')
  await dialog.getByRole('button', { name: 'Test', exact: true }).click()
  await dialog.getByText(/It answered in/).waitFor()
  await dialog.getByRole('button', { name: 'Switch on' }).click()
  await page.getByRole('row', { name }).getByText('in use', { exact: true }).waitFor()
}

export async function offerModel(page: Page, name: string): Promise<void> {
  const dialog = dialogOf(page)
  await goTo(page, 'Models and prices')
  await page.getByRole('button', { name: 'Add a model' }).first().click()
  await dialog.getByRole('textbox', { name: 'Model', exact: true }).fill(name)
  await dialog.getByLabel('Context').fill('8192')
  await dialog.getByRole('textbox', { name: 'Input', exact: true }).fill('0.002')
  await dialog.getByRole('textbox', { name: 'Output', exact: true }).fill('0.004')
  await dialog.getByRole('button', { name: 'Add a route' }).click()
  await dialog.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { name, level: 1 }).waitFor()
}

/** Of the model whose page is open. */
export async function changePrice(page: Page, output: string): Promise<void> {
  const dialog = dialogOf(page)
  await page.getByRole('button', { name: 'Change the price' }).click()
  await dialog.getByRole('textbox', { name: 'Output', exact: true }).fill(output)
  await dialog.getByRole('button', { name: 'Change the price' }).click()
  await page
    .getByRole('row', { name: /current/ })
    .getByText(`¥${output}`)
    .waitFor()
}

export async function openAccount(page: Page, email: string): Promise<void> {
  const dialog = dialogOf(page)
  await goTo(page, 'Accounts')
  await page.getByRole('button', { name: 'Open an account' }).first().click()
  await dialog.getByLabel('E-mail').fill(email)
  await dialog.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { name: email, level: 1 }).waitFor()
}

/** To the account whose page is open. */
export async function credit(page: Page, amount: string): Promise<void> {
  const dialog = dialogOf(page)
  await page.getByRole('button', { name: 'Credit', exact: true }).click()
  await dialog.getByLabel('Amount').fill(amount)
  await dialog.getByLabel('Reason').fill('Bank transfer')
  await dialog.getByRole('button', { name: 'Credit', exact: true }).click()
  await page
    .getByRole('row', { name: /Bank transfer/ })
    .getByText('¥12.50', { exact: true })
    .first()
    .waitFor()
}
