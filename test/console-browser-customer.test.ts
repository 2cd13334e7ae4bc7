/** A customer at the console, in a real browser: by the keyboard alone, in the playground, and on every page. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { question } from './support/server/account.ts'
import { eventually } from './support/client/responses.ts'
import { visitor, withoutBrowser } from './support/console/browser.ts'
import { createKey, goTo, redeem, signUp } from './support/console/console-steps.ts'
import { shareHouse } from './support/server/test-server.ts'
import { faultsAlong } from './support/console/page-checks.ts'
import { saying } from './support/upstream/scripted-responses.ts'

const house = withoutBrowser === false ? await shareHouse() : undefined
function theHouse() {
  assert.ok(house)
  return house
}

async function voucher(amount: string): Promise<string> {
  const { codes } = await theHouse().admin<{ codes: string[] }>('POST', '/vouchers', { amount, count: 1 })
  return codes[0] ?? ''
}

/** Calls with a key: the request's id, once it has its page. */
async function ask(secret: string, model: string): Promise<string> {
  const reply = await fetch(`${theHouse().url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(question(model)),
  })
  await reply.arrayBuffer()
  const id = reply.headers.get('x-request-id') ?? ''
  return eventually(`the row of ${id}`, async () =>
    (await theHouse().requests({ request_id: id })).length === 1 ? id : undefined,
  )
}

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
  const upstream = await theHouse().upstream(saying('Hello!', { input: 1000, output: 100, cached: 300 }))
  await theHouse().model('sweep-model', { upstreams: [upstream], prices: ['0.002', '0.004'] })
  await goTo(me.page, 'Keys')
  const secret = await createKey(me.page, 'a key with quite a long name, for the website of the company')
  const answered = await ask(secret, 'sweep-model')
  const refused = await ask(secret, 'no-such-model')
  const { data: keys } = (await (await me.context.request.get('/api/console/keys')).json()) as {
    data: { id: string }[]
  }
  const key = keys[0]?.id ?? ''
  const month = new Date(Date.now() + 8 * 3_600_000).toISOString().slice(0, 7)
  const paths = [
    '/overview',
    '/keys',
    '/keys?add=yes',
    `/keys?edit=${key}`,
    `/keys?rotate=${key}`,
    '/usage',
    `/usage/${answered}`,
    `/usage/${refused}`,
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
  assert.deepEqual(await faultsAlong(me, paths), [])
})
