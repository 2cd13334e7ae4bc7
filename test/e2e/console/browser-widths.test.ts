// @backend both (cluster in long runs)
// @suite all – runs a browser
// @drives a browser
/** Every page of the console with large amounts and long names, from a phone's width to a large screen's. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { Account, chatRequest } from '../../support/server/account.ts'
import { openBrowser, browserSkipReason, sharedBrowserServer } from '../../support/console/browser.ts'
import { customerPages, operatorPages } from '../../support/console/console-pages.ts'
import { signUpCustomer, validPassword } from '../../support/console/console-session.ts'
import { openAsOperator, signIn } from '../../support/console/console-steps.ts'
import { checkWidths, inTwoBrowsers } from '../../support/console/page-checks.ts'
import { respondWithError, respondWith } from '../../support/upstream/scripted-responses.ts'

const testServer = await sharedBrowserServer()
// Each name has 40 characters, and the balance as many digits as an account can have.
const balance = '999999999.123456789'
const model = 'family/of-models-with-a-name-of-forty-ch'
const upstreamName = 'an-upstream-with-a-name-of-40-characters'
const name = 'Somebody with a name of forty characters'
const email = `${name.toLowerCase().replaceAll(' ', '-')}@company.example`
/** In place of the paths' `none`. */
const ids = { account: '', request: '', upstream: '' }

before(async () => {
  if (browserSkipReason !== false) return
  const server = testServer()
  const good = await server.upstream(respondWith('Hello!', { input: 1000, output: 100 }), {
    name: upstreamName,
  })
  const bad = await server.upstream(respondWithError(503), { name: `${upstreamName.slice(0, -1)}2` })
  await server.model(model, { upstreams: [bad, good], prices: ['1234.567891', '2345.678901'] })
  await server.model(`${model.slice(0, -1)}2`, { upstreams: [bad] })
  await signUpCustomer(server, email)
  const found = await server.admin<{ data: { id: string }[] }>('GET', `/accounts?email=${email}`)
  const customer = new Account(server, found.data[0]?.id ?? '')
  await customer.credit(balance)
  await customer.change({ name, caps: { daily: balance, monthly: balance } })
  await customer.newKey({ name, caps: { daily: balance, monthly: balance, total: balance } })
  for (const id of [model, `${model.slice(0, -1)}2`]) {
    const response = await customer.post({ ...chatRequest(id), max_tokens: 100 })
    await response.text()
  }
  await server.assertNoOpenHolds()
  await server.admin('POST', '/vouchers', { amount: '999999999', count: 1 })
  await server.admin('POST', '/promotions', { name, amount: '999999999', code: 'FORTY' })
  await server.admin('POST', '/incidents', { title: name, models: [model], message: name })
  await server.admin('POST', '/invites', { note: name, uses: 3 })
  ids.account = customer.id
  ids.upstream = good.id
  ids.request = (await server.requests({ model }))[0]?.request_id ?? ''
})

/** Pages without their dialogs, of what the test has set up. */
function pathsOf(pages: readonly string[]): string[] {
  return pages.map((page) => {
    const [path = ''] = page.split(' ')
    if (path === '/operator/models/none') return path.replace('none', encodeURIComponent(model))
    return path
      .replace('req_none', ids.request)
      .replace('acc_none', ids.account)
      .replace('upstreams/none', `upstreams/${ids.upstream}`)
  })
}

/** In the latest requests of the overview: where the decimals after the second one begin, and the whole amounts. */
const amountsScript = `[...document.querySelectorAll('td.numeric > .num')].map((amount) => {
  const range = document.createRange()
  range.selectNodeContents(amount.firstChild)
  return { cents: Math.round(range.getBoundingClientRect().right), text: amount.textContent }
})`

describe('Widths in a browser', () => {
  test(
    'Customer pages – cut off no text and never scroll sideways',
    { skip: browserSkipReason },
    async (t) => {
      const browser = await openBrowser(t, testServer().url)
      await signIn(browser, email, validPassword)
      await browser.waitUntilReady()
      const amounts = await browser.page.evaluate<{ cents: number; text: string }[]>(amountsScript)
      assert.deepEqual(amounts.map(({ text }) => text).toSorted(), ['¥0.00', '¥1,469.1357811'])
      const times = await browser.page.locator('td time').allTextContents()
      for (const time of times) assert.match(time, /^\w{3} \d{1,2}, \d\d:\d\d:\d\d$/)
      assert.equal(times.length, 2)
      assert.equal(new Set(amounts.map(({ cents }) => cents)).size, 1, 'decimal points are aligned')
      assert.deepEqual(await inTwoBrowsers(t, browser, pathsOf(customerPages), checkWidths), [])
    },
  )

  test(
    'Operator pages – cut off no text and never scroll sideways',
    { skip: browserSkipReason },
    async (t) => {
      const browser = await openAsOperator(t, testServer())
      assert.deepEqual(await inTwoBrowsers(t, browser, pathsOf(operatorPages), checkWidths), [])
    },
  )
})
