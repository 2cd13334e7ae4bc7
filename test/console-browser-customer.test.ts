/** A customer's first day at the console, in a real browser: from signing up to a cap, a voucher and on. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from './answers.ts'
import { visitor, withoutBrowser, type Visitor } from './chromium.ts'
import { createKey, dialogOf, goTo, redeem, setDailyCap, signUp } from './console-steps.ts'
import { shareHouse } from './house.ts'
import { faultsOf } from './page-sweep.ts'
import { saying } from './scripts.ts'

const house = withoutBrowser === false ? await shareHouse() : undefined
/** What is settled is shown within this time. */
const freshMs = 2_000

function theHouse() {
  assert.ok(house)
  return house
}

async function voucher(amount: string): Promise<string> {
  const { codes } = await theHouse().admin<{ codes: string[] }>('POST', '/vouchers', { amount, count: 1 })
  return codes[0] ?? ''
}

function asked(secret: string): Promise<Response> {
  return fetch(`${theHouse().url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'story-model',
      messages: [{ role: 'user', content: 'Hello!' }],
      max_tokens: 100,
    }),
  })
}

/** From a settled answer on: how long until the page's own question is answered with it. */
async function isShownSoon({ context }: Visitor, balance: string): Promise<void> {
  const settledAt = performance.now()
  await eventually('the new balance', async () => {
    const reply = await context.request.get('/api/console/overview')
    const { balance: told } = (await reply.json()) as { balance: string }
    return told === balance ? told : undefined
  })
  assert.ok(performance.now() - settledAt < freshMs, `it took ${performance.now() - settledAt} ms`)
}

test(
  'sign up, voucher, key, request: cost and usage appear within two seconds; a cap stops the service, and it goes on when it is raised',
  { skip: withoutBrowser },
  async (t) => {
    const upstream = await theHouse().upstream(saying('Hello!', { input: 1000, output: 100 }))
    await theHouse().model('story-model', { prices: ['1', '1'], upstreams: [upstream] })
    const me = await visitor(t, theHouse().url)
    const { page, open } = me
    await signUp(me, 'customer@example.com')
    await page.getByText('First steps').waitFor()
    await redeem(page, await voucher('10'), '¥10.00 added. Your balance is ¥10.00.')
    await goTo(page, 'Keys')
    const secret = await createKey(page, 'website')
    const dialog = dialogOf(page, 'Create a key')
    const snippet = (await dialog.locator('pre').textContent()) ?? ''
    assert.ok(
      snippet.includes(`${theHouse().url}/v1`) && snippet.includes(secret) && snippet.includes('story-model'),
    )
    await dialog.getByRole('button', { name: 'Send a test request' }).click()
    await dialog.getByText('Hello!', { exact: true }).waitFor()
    await dialog.getByText('¥1.10').waitFor()
    await dialog.getByRole('button', { name: 'I have kept it' }).click()
    await dialog.waitFor({ state: 'detached' })
    assert.equal(await page.getByText(secret).count(), 0, 'the secret is shown once')

    await goTo(page, 'Overview')
    const balance = page.locator('.tile').filter({ has: page.getByText('Balance', { exact: true }) })
    await balance.getByText('¥8.90', { exact: true }).waitFor()
    assert.equal((await asked(secret)).status, 200)
    await isShownSoon(me, '7.8')
    await balance.getByText('¥7.80', { exact: true }).waitFor()

    await setDailyCap(page, '2.2')
    await page.getByText('of ¥2.20').waitFor()
    const refused = await asked(secret)
    assert.equal(refused.status, 402)
    assert.match(await refused.text(), /spend_cap_exceeded/)
    await setDailyCap(page, '')
    await redeem(page, await voucher('5'), '¥5.00 added. Your balance is ¥12.80.')
    assert.equal((await asked(secret)).status, 200)

    // One click from a request to its bill.
    await open('/usage')
    await page
      .getByRole('row', { name: /answered/ })
      .first()
      .getByRole('link')
      .click()
    await page
      .getByRole('row', { name: /Input tokens/ })
      .getByText('1,000', { exact: true })
      .waitFor()
    await page
      .getByRole('row', { name: /Charged/ })
      .getByText('¥1.10')
      .waitFor()
  },
)

test('a key can be created with the keyboard alone', { skip: withoutBrowser }, async (t) => {
  const me = await visitor(t, theHouse().url)
  const { page } = me
  await signUp(me, 'keyboard@example.com')
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Search' }).waitFor()
  await page.keyboard.type('keys')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
  for (let presses = 0; presses < 40; presses += 1) {
    await page.keyboard.press('Tab')
    // Between the last and the first element of the page the focus is the browser's own.
    const focused = await page.evaluate<string>('document.activeElement?.textContent ?? ""')
    if (focused.trim() === 'Create a key') break
  }
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').getByLabel('Name').waitFor()
  await page.locator('input[name="name"]:focus').waitFor()
  await page.keyboard.type('by hand')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').locator('.secret code').waitFor()
})

test(
  'the playground streams two models side by side, with tokens and cost, and gives the call as code',
  { skip: withoutBrowser },
  async (t) => {
    const upstream = await theHouse().upstream(saying('One two three.', { input: 10, output: 5 }))
    await theHouse().model('play-one', { upstreams: [upstream] })
    await theHouse().model('play-two', { upstreams: [upstream] })
    const me = await visitor(t, theHouse().url)
    const { page, open } = me
    await signUp(me, 'player@example.com')
    await redeem(page, await voucher('1'), '¥1.00 added. Your balance is ¥1.00.')
    await open('/playground?model=play-one&beside=play-two')
    await page.getByRole('textbox', { name: /Ask something/ }).fill('Count.')
    await page.keyboard.press('Enter')
    for (const model of ['play-one', 'play-two']) {
      const side = page.getByRole('region', { name: model })
      await side.getByText('One two three.').waitFor()
      await side.getByText('¥0.00003').waitFor()
      await side.getByText('10 in, 5 out').waitFor()
    }
    await page.getByRole('button', { name: 'as code' }).first().click()
    await page.locator('pre').getByText('"content": "Count."').waitFor()
  },
)

test('a customer’s pages can be read whole and by everybody', { skip: withoutBrowser }, async (t) => {
  const me = await visitor(t, theHouse().url)
  await signUp(me, 'a-customer-with-quite-a-long-address@company.example')
  await redeem(me.page, await voucher('123.456'), '¥123.456 added. Your balance is ¥123.456.')
  const month = new Date(Date.now() + 8 * 3_600_000).toISOString().slice(0, 7)
  const paths = [
    '/overview',
    '/keys',
    '/keys?add=yes',
    '/usage',
    '/billing',
    '/billing?edit=caps',
    `/billing/${month}`,
    '/models',
    '/playground',
    '/limits',
    '/limits?ask=yes',
    '/notices',
    '/guide',
    '/profile',
  ]
  const faults: string[] = []
  for (const path of paths) faults.push(...(await faultsOf(me, path)))
  assert.deepEqual(faults, [])
})
