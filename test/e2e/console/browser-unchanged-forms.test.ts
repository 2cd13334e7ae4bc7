// @backend sqlite – the console is the same on both
// @suite all – runs a browser
// @drives a browser
/** Forms keep what they do not show: each is saved unchanged and with one change, and nothing else of its object changes. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  browserSkipReason,
  openBrowser,
  sharedBrowserServer,
  type BrowserSession,
} from '../../support/console/browser.ts'
import { findDialog, openAsOperator, signUp } from '../../support/console/console-steps.ts'
import type { EditForm, FormContext, Resource } from '../../support/console/edit-form.ts'
import { editForms } from '../../support/console/edit-forms.ts'

const testServer = await sharedBrowserServer()

/** Without the time of the last change, and without the number of the price version, which each change increments. */
async function read({ path, isObject }: EditForm): Promise<{ object: Resource; version: unknown }> {
  const response = await testServer().admin<Resource & { data?: Resource[] }>('GET', path)
  const found = isObject === undefined ? response : response.data?.find(isObject)
  assert.ok(found, path)
  const { updated_at: _, price_version: version, ...object } = found
  return { object, version }
}

/** The fields that have no value, nor one item with all values: an object that has every value shows what a form loses. */
function emptyFields(object: Resource): string[] {
  return Object.entries(object).flatMap(([name, value]) => {
    if (value === null || value === '' || (Array.isArray(value) && value.length === 0)) return [name]
    const parts: readonly unknown[] = Array.isArray(value) ? value : [value]
    const isIncomplete = parts.every(
      (part) => typeof part === 'object' && part !== null && emptyFields({ ...part }).length > 0,
    )
    return isIncomplete ? [name] : []
  })
}

function merge(object: Resource, changed: Resource): Resource {
  const merged = Object.entries(changed).map(([name, value]) => {
    const before = object[name]
    const isNested = typeof value === 'object' && value !== null && !Array.isArray(value)
    return [name, isNested ? merge(before as Resource, value as Resource) : value] as const
  })
  return { ...object, ...Object.fromEntries(merged) }
}

/** Opens the form, changes it and saves it. */
async function save(browser: BrowserSession, form: EditForm, change?: EditForm['change']): Promise<void> {
  const { page } = browser
  await browser.navigate(form.page)
  await form.open?.(page)
  await browser.waitUntilReady()
  const response = page.waitForResponse((each) => ['PATCH', 'PUT'].includes(each.request().method()))
  await change?.(page)
  const label = form.submit === undefined ? 'Save' : form.submit
  if (label !== null) {
    const overflow = await page.evaluate<string>('getComputedStyle(document.body).overflow')
    assert.equal(overflow, 'hidden', 'the page behind a dialog does not scroll')
    await findDialog(page).getByRole('button', { name: label, exact: true }).click()
  }
  assert.equal((await response).status(), 200, await (await response).text())
  await browser.waitUntilReady()
}

async function checkForm(browser: BrowserSession, form: EditForm): Promise<void> {
  const before = await read(form)
  assert.deepEqual(new Set(emptyFields(before.object)), new Set(form.empty), 'fields without a value')
  if (form.submit !== null) {
    const undo = browser.page.getByRole('button', { name: 'Undo', exact: true })
    const earlier = await undo.count()
    await save(browser, form)
    assert.deepEqual(await read(form), before, 'saved unchanged')
    assert.ok((await undo.count()) <= earlier, 'nothing to undo')
  }
  await save(browser, form, form.change)
  assert.deepEqual((await read(form)).object, merge(before.object, form.changed), 'saved with one change')
}

describe('Forms in a browser', { skip: browserSkipReason }, () => {
  test('Forms – saved unchanged or with one change, keep all other fields', async (t) => {
    const operator = await openAsOperator(t, testServer())
    const customer = await openBrowser(t, testServer().url)
    await signUp(customer, 'form@example.com')
    const found = await testServer().admin<{ data: { id: string }[] }>(
      'GET',
      '/accounts?email=form@example.com',
    )
    const context: FormContext = { server: testServer(), customerId: found.data[0]?.id ?? '' }
    const forms: [string, EditForm][] = []
    for (const [name, create] of Object.entries(editForms)) forms.push([name, await create(context)])
    // The pages that are already open do not know the objects yet.
    await Promise.all([operator.page.reload(), customer.page.reload()])
    for (const [name, form] of forms) {
      await t.test(`${name} – keeps all other fields`, () =>
        checkForm(form.isOfCustomer === true ? customer : operator, form),
      )
    }
  })
})
