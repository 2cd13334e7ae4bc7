// @backend sqlite – the console is the same on both
// @suite all – runs a browser
// @drives a browser
/** Forms that pick models: from the existing ones, keeping the names that exist no longer. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { browserSkipReason, openBrowser, sharedBrowserServer } from '../../support/console/browser.ts'
import { findDialog, openAsOperator, signUp } from '../../support/console/console-steps.ts'

const skip = browserSkipReason
const testServer = await sharedBrowserServer()

if (browserSkipReason === false) {
  const server = testServer()
  const upstream = await server.upstreamAt('http://127.0.0.1:9000/v1')
  for (const id of ['gamma-large', 'gamma-small']) await server.model(id, { upstreams: [upstream] })
}

async function pickModel(page: Page, typed: string, name: string): Promise<void> {
  await findDialog(page).getByRole('combobox', { name: 'Models' }).fill(typed)
  await page.getByRole('option', { name, exact: true }).click()
}

async function save(page: Page, label: string): Promise<void> {
  await findDialog(page).getByRole('button', { name: label, exact: true }).click()
  await findDialog(page).waitFor({ state: 'detached' })
}

describe('Models in forms', () => {
  test('Incident – a model is picked, a model that was deleted stays', { skip }, async (t) => {
    const browser = await openAsOperator(t, testServer())
    const { page } = browser
    const { id } = await testServer().admin<{ id: string }>('POST', '/incidents', {
      title: 'Slow responses',
      severity: 'minor',
      models: ['deleted-model'],
    })
    await browser.navigate(`/operator/incidents?edit=${id}`)
    await findDialog(page).getByText('deleted-model', { exact: true }).waitFor()
    await pickModel(page, 'SMALL', 'gamma-small')
    await save(page, 'Post update')
    const { models } = await testServer().admin<{ models: string[] }>('GET', `/incidents/${id}`)
    assert.deepEqual(models, ['deleted-model', 'gamma-small'])
  })

  test('API key – an offered model and a prefix are added, an unknown name stays', { skip }, async (t) => {
    const browser = await openBrowser(t, testServer().url)
    const { page, context } = browser
    await signUp(browser, 'models@example.com')
    const created = await context.request.post('/api/console/keys', {
      data: { name: 'website', models: ['deleted-model', 'alpha-*'] },
      headers: { origin: testServer().url },
    })
    const { id } = (await created.json()) as { id: string }
    const readModels = async (): Promise<unknown> =>
      ((await (await context.request.get(`/api/console/keys/${id}`)).json()) as { models: unknown }).models
    await browser.navigate(`/keys?edit=${id}`)
    await save(page, 'Save')
    assert.deepEqual(await readModels(), ['deleted-model', 'alpha-*'])

    await browser.navigate(`/keys?edit=${id}`)
    await findDialog(page).getByText('Expiry, rate limits, models, IP allowlist').click()
    await findDialog(page).getByText('alpha-*', { exact: true }).waitFor()
    await pickModel(page, 'large', 'gamma-large')
    await pickModel(page, 'beta-*', 'beta-*')
    await findDialog(page).getByRole('combobox', { name: 'Models' }).fill('gamma-small')
    await page.keyboard.press('Tab')
    await save(page, 'Save')
    assert.deepEqual(await readModels(), ['deleted-model', 'alpha-*', 'gamma-large', 'beta-*', 'gamma-small'])
  })
})
