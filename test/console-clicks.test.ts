/** How many clicks a task takes once one is signed in, counted as they are made: no more than a hand should need. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { question, type Account } from './support/server/account.ts'
import { becomeOperator, visitor, withoutBrowser } from './support/console/browser.ts'
import {
  createKey,
  dialogOf,
  goTo,
  inClicks,
  redeem,
  signInAsOperator,
  signUp,
} from './support/console/console-steps.ts'
import { shareHouse } from './support/server/test-server.ts'
import { openUpstream } from './support/upstream/scripted-upstream.ts'
import { failing, saying } from './support/upstream/scripted-responses.ts'

const skip = withoutBrowser
const house = skip === false ? await shareHouse() : undefined
let someone: Account | undefined

function theHouse() {
  assert.ok(house)
  return house
}

if (house !== undefined) {
  const good = await house.upstream(saying('Hello!', { input: 1000, output: 100 }), {
    prices: { input: '0.001', output: '0.002' },
  })
  await house.model('story-model', { prices: ['0.002', '0.004'], upstreams: [good] })
  someone = await house.account({ balance: '10' })
}

test('a key with a working snippet takes three clicks', { skip }, async (t) => {
  const me = await visitor(t, theHouse().url)
  const { page } = me
  await signUp(me, 'keys@example.com')
  const dialog = dialogOf(page, 'Create a key')
  let secret = ''
  await inClicks(t, me, 3, async () => {
    await goTo(page, 'Keys')
    secret = await createKey(page, 'website')
    const snippet = (await dialog.locator('pre').textContent()) ?? ''
    for (const part of [`${theHouse().url}/v1`, secret, 'story-model'])
      assert.ok(snippet.includes(part), snippet)
  })
  await dialog.getByRole('button', { name: 'Send a test request' }).waitFor()
})

test('what one request cost, so that it adds up, takes one click', { skip }, async (t) => {
  const me = await visitor(t, theHouse().url)
  const { page, context } = me
  await signUp(me, 'cost@example.com')
  const { codes } = await theHouse().admin<{ codes: string[] }>('POST', '/vouchers', {
    amount: '1',
    count: 1,
  })
  await redeem(page, codes[0] ?? '', '¥1.00 added. Your balance is ¥1.00.')
  const data = question('story-model')
  const headers = { origin: theHouse().url }
  const reply = await context.request.post('/api/console/chat/completions', { data, headers })
  assert.equal(reply.status(), 200)
  await goTo(page, 'Overview')
  await inClicks(t, me, 1, async () => {
    const latest = page.getByRole('table', { name: 'Latest requests' })
    await latest
      .getByRole('row', { name: /answered/ })
      .getByRole('link')
      .click()
    const bill = page.getByRole('table', { name: 'Bill' })
    const lines = [
      [/^Input tokens/, '1,000', '¥0.002'],
      [/^Output tokens/, '100', '¥0.0004'],
      [/^Charged/, '¥0.0024'],
    ] as const
    for (const [name, ...cells] of lines) {
      const row = bill.getByRole('row', { name })
      for (const cell of cells) await row.getByText(cell, { exact: true }).first().waitFor()
    }
    await page.getByText('¥0.9976').waitFor()
  })
})

test('a cap of the account takes two clicks, a day’s and a month’s', { skip }, async (t) => {
  const me = await visitor(t, theHouse().url)
  const { page } = me
  await signUp(me, 'caps@example.com')
  await inClicks(t, me, 2, async () => {
    await page.getByRole('link', { name: 'Set a cap' }).first().click()
    const dialog = dialogOf(page, 'Set caps')
    await dialog.getByLabel('Cap per day').fill('2.5')
    await dialog.getByLabel('Cap per month').fill('40')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText('of ¥2.50').waitFor()
    await page.getByText('of ¥40.00').waitFor()
  })
})

test('a cap of a key takes two clicks, a day’s, a month’s and one for its life', { skip }, async (t) => {
  const me = await visitor(t, theHouse().url)
  const { page } = me
  await signUp(me, 'key-caps@example.com')
  await goTo(page, 'Keys')
  await createKey(page, 'laptop')
  await dialogOf(page, 'Create a key').getByRole('button', { name: 'I have kept it' }).click()
  await goTo(page, 'Overview')
  await inClicks(t, me, 2, async () => {
    await goTo(page, 'Keys')
    await page
      .getByRole('row', { name: /laptop/ })
      .getByRole('button', { name: 'Edit' })
      .click()
    const dialog = dialogOf(page, 'Change “laptop”')
    await dialog.getByLabel('Cap per day').fill('1')
    await dialog.getByLabel('Cap per month').fill('20')
    await dialog.getByLabel('Cap for its life').fill('100')
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'detached' })
  })
  const { data } = (await (await me.context.request.get('/api/console/keys')).json()) as {
    data: { caps: object }[]
  }
  assert.deepEqual(data[0]?.caps, { daily: '1', monthly: '20', total: '100' })
})

test('an upstream that is tested before it is live takes five clicks', { skip }, async (t) => {
  const upstream = await openUpstream(saying('Hello!'))
  t.after(() => upstream.close())
  const me = await visitor(t, theHouse().url)
  const { page } = me
  await becomeOperator(me, theHouse().log)
  const dialog = dialogOf(page)
  await inClicks(t, me, 5, async () => {
    await goTo(page, 'Upstreams')
    await page.getByRole('button', { name: 'Add an upstream' }).first().click()
    await dialog.getByLabel('Provider').selectOption('openai-compatible')
    await dialog.getByLabel('Name').fill('counted')
    await dialog.getByLabel('Address').fill(upstream.url)
    await dialog.getByRole('textbox', { name: 'Credential' }).fill('sk-upstream')
    await dialog.getByRole('button', { name: 'Save and test' }).click()
    const use = dialog.getByRole('button', { name: 'Switch on' })
    assert.equal(await use.isDisabled(), true, 'it is not live before it was tested')
    await dialog.getByLabel('Model to ask').fill('story-model')
    await dialog.getByRole('button', { name: 'Test', exact: true }).click()
    await dialog.getByText(/It answered in/).waitFor()
    await use.click()
    await page
      .getByRole('row', { name: /counted/ })
      .getByText('in use', { exact: true })
      .waitFor()
  })
})

test(
  'a price takes four clicks, with what was and will be, the margin, the traffic it touches, who did it, and a way back',
  { skip },
  async (t) => {
    assert.ok(someone)
    await (await someone.post(question('story-model'))).text()
    const me = await visitor(t, theHouse().url)
    const { page } = me
    await signInAsOperator(me)
    const dialog = dialogOf(page)
    await inClicks(t, me, 4, async () => {
      await goTo(page, 'Models and prices')
      await page.getByRole('link', { name: 'story-model', exact: true }).click()
      await page.getByRole('button', { name: 'Change the price' }).click()
      await dialog.getByRole('textbox', { name: 'Output', exact: true }).fill('0.008')
      await dialog
        .getByRole('row', { name: /Output/ })
        .getByText('+100 %')
        .waitFor()
      await dialog.getByText(/Last 30 days: [12] requests?/).waitFor()
      await dialog.getByText(/Left after paying/).waitFor()
      await dialog.getByText(/from this moment on/).waitFor()
      await dialog.getByRole('button', { name: 'Change the price' }).click()
      await page
        .getByRole('row', { name: /current/ })
        .getByText('¥0.008')
        .waitFor()
    })
    await page.getByRole('button', { name: 'Put back' }).first().click()
    await dialog.getByRole('button', { name: 'Put back' }).click()
    await page
      .getByRole('row', { name: /current/ })
      .getByText('¥0.004')
      .waitFor()
    await goTo(page, 'Audit log')
    const row = page.getByRole('row', { name: /price/ }).first()
    await row.getByText('operator@example.com').waitFor()
  },
)

test('why requests fail takes two clicks, to the cause and to a sample of it', { skip }, async (t) => {
  assert.ok(someone)
  const down = await theHouse().upstream(failing(500), { name: 'down' })
  await theHouse().model('failing-model', { upstreams: [down] })
  for (let count = 0; count < 3; count += 1) await (await someone.post(question('failing-model'))).text()
  const me = await visitor(t, theHouse().url)
  const { page } = me
  await signInAsOperator(me)
  await inClicks(t, me, 2, async () => {
    await goTo(page, 'Failures')
    const row = page.getByRole('row', { name: /failing-model/ })
    await row.getByText('down').waitFor()
    await row.getByText('provider', { exact: true }).waitFor()
    await row.getByRole('link', { name: 'Sample' }).click()
    await page.getByRole('table', { name: 'Attempts' }).getByText('down').waitFor()
  })
})
