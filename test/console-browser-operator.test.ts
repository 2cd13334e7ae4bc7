/** An operator's day at the console, in a real browser: from the printed link to the audit log. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { question } from './account.ts'
import { becomeOperator, visitor, withoutBrowser } from './chromium.ts'
import { enterPassword, goTo, signInAsOperator } from './console-steps.ts'
import { shareHouse } from './house.ts'
import { openUpstream } from './scripted-upstream.ts'
import { failing, saying } from './scripts.ts'

const house = withoutBrowser === false ? await shareHouse() : undefined

function theHouse() {
  assert.ok(house)
  return house
}

test(
  'by the printed link comes an operator, who signs out, and in again with the password alone',
  { skip: withoutBrowser },
  async (t) => {
    const me = await visitor(t, theHouse().url)
    const { page } = me
    await becomeOperator(me, theHouse().log)
    assert.equal(new URL(page.url()).hash, '', 'the token stays in no history')
    await page.getByRole('button', { name: 'operator@example.com' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()

    await enterPassword(me, 'operator@example.com', 'not the password')
    await page.getByRole('alert').getByText('E-mail or password is not right.').waitFor()
    await signInAsOperator(me)
  },
)

test(
  'an upstream is tested before it is live, then a model, its price, an account and its credit follow, and the audit log tells all',
  { skip: withoutBrowser },
  async (t) => {
    const upstream = await openUpstream(saying('Hello!', { input: 1000, output: 100 }))
    t.after(() => upstream.close())
    const me = await visitor(t, theHouse().url)
    const { page } = me
    await signInAsOperator(me)

    // Five clicks: the button, save and test, test, switch on; the page is the fifth.
    await goTo(page, 'Upstreams')
    await page.getByRole('button', { name: 'Add an upstream' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Provider').selectOption('openai-compatible')
    await dialog.getByLabel('Name').fill('first')
    await dialog.getByLabel('Address').fill(upstream.url)
    await dialog.getByRole('textbox', { name: 'Credential' }).fill('sk-upstream')
    await dialog.getByRole('button', { name: 'Save and test' }).click()
    const use = dialog.getByRole('button', { name: 'Switch on' })
    assert.equal(await use.isDisabled(), true, 'it is not live before it was tested')
    await dialog.getByLabel('Model to ask').fill('story-model')
    await dialog.getByRole('button', { name: 'Test', exact: true }).click()
    await dialog.getByText(/It answered in/).waitFor()
    await use.click()
    await page.getByRole('cell', { name: 'in use' }).waitFor()

    await goTo(page, 'Models and prices')
    await page.getByRole('button', { name: 'Add a model' }).first().click()
    await dialog.getByRole('textbox', { name: 'Model', exact: true }).fill('story-model')
    await dialog.getByLabel('Context').fill('8192')
    await dialog.getByRole('textbox', { name: 'Input', exact: true }).fill('0.002')
    await dialog.getByRole('textbox', { name: 'Output', exact: true }).fill('0.004')
    await dialog.getByRole('button', { name: 'Add a route' }).click()
    await dialog.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { name: 'story-model', level: 1 }).waitFor()

    // Four clicks from anywhere: Models, the model, the button, save.
    await page.getByRole('button', { name: 'Change the price' }).click()
    await dialog.getByRole('textbox', { name: 'Output', exact: true }).fill('0.008')
    await dialog
      .getByRole('row', { name: /Output/ })
      .getByText('+100 %')
      .waitFor()
    await dialog.getByRole('button', { name: 'Change the price' }).click()
    await page
      .getByRole('row', { name: /current/ })
      .getByText('¥0.008')
      .waitFor()

    await goTo(page, 'Accounts')
    await page.getByRole('button', { name: 'Open an account' }).first().click()
    await dialog.getByLabel('E-mail').fill('customer@example.com')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { name: 'customer@example.com' }).waitFor()
    await page.getByRole('button', { name: 'Credit' }).click()
    await dialog.getByLabel('Amount').fill('12.5')
    await dialog.getByLabel('Reason').fill('Bank transfer')
    await dialog.getByText('¥12.50').waitFor()
    await dialog.getByRole('button', { name: 'Credit' }).click()
    await page
      .getByRole('row', { name: /Bank transfer/ })
      .getByText('¥12.50')
      .first()
      .waitFor()

    await goTo(page, 'Audit log')
    await page
      .getByRole('row', { name: /credit/ })
      .first()
      .waitFor()
    await page
      .getByRole('row', { name: /upstream/ })
      .first()
      .waitFor()
  },
)

test(
  'an upstream that fails its test cannot be switched on from there',
  { skip: withoutBrowser },
  async (t) => {
    const broken = await openUpstream(failing(401))
    t.after(() => broken.close())
    const me = await visitor(t, theHouse().url)
    const { page, open } = me
    await signInAsOperator(me)
    await theHouse().upstreamAt(broken.url, { name: 'broken', enabled: false })
    await open('/operator/upstreams')
    await page
      .getByRole('row', { name: /broken/ })
      .getByRole('button', { name: 'Test' })
      .click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Model to ask').fill('any')
    await dialog.getByRole('button', { name: 'Test', exact: true }).click()
    await dialog.getByText(/The test failed/).waitFor()
    assert.equal(await dialog.getByRole('button', { name: 'Switch on' }).isDisabled(), true)
  },
)

test(
  'the palette finds a page by the keyboard alone, and the language changes all words at once',
  { skip: withoutBrowser },
  async (t) => {
    const me = await visitor(t, theHouse().url)
    const { page } = me
    await signInAsOperator(me)
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search' }).waitFor()
    await page.keyboard.type('ledg')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Ledger' }).waitFor()
    await page.getByRole('button', { name: 'Verify now' }).click()
    await page.getByText('The ledger adds up, to the last digit.').waitFor()

    await page.getByRole('button', { name: 'operator@example.com' }).click()
    await page.getByRole('menuitem', { name: '简体中文' }).click()
    await page.getByRole('heading', { name: '账本' }).waitFor()
    await page.getByRole('link', { name: '上游' }).waitFor()
    assert.equal(await page.getByText('Ledger').count(), 0)
  },
)

test(
  'why requests fail is two clicks away, grouped by cause, upstream and model, with whose turn it is',
  { skip: withoutBrowser },
  async (t) => {
    const down = await theHouse().upstream(failing(500), { name: 'down' })
    await theHouse().model('failing-model', { upstreams: [down] })
    const someone = await theHouse().account({ balance: '1' })
    for (let count = 0; count < 3; count += 1) await someone.post(question('failing-model'))
    const me = await visitor(t, theHouse().url)
    const { page } = me
    await signInAsOperator(me)
    await goTo(page, 'Failures')
    const row = page.getByRole('row', { name: /failing-model/ })
    await row.getByText('down').waitFor()
    await row.getByText('provider', { exact: true }).waitFor()
    await row.getByRole('link', { name: 'Sample' }).click()
    await page.getByRole('table', { name: 'Attempts' }).getByText('down').waitFor()
  },
)
