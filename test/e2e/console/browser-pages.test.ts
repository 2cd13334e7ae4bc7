// @backend both (cluster in long runs)
// @suite all – runs a browser
// @drives a browser
/** Every page of the console with content, in both languages and themes, on desktop and phone. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { accountEndpoints } from '../../../src/http/console/account/account.ts'
import { chatRequest, type Account } from '../../support/server/account.ts'
import { signUpCustomer } from '../../support/console/console-session.ts'
import { openBrowser, browserSkipReason, sharedBrowserServer } from '../../support/console/browser.ts'
import { publicPages } from '../../support/console/console-pages.ts'
import { openAsOperator } from '../../support/console/console-steps.ts'
import { inTwoBrowsers, checkPage, checkAllViews, setView } from '../../support/console/page-checks.ts'
import { respondWithError, respondWith } from '../../support/upstream/scripted-responses.ts'

const testServer = await sharedBrowserServer()
let customer: Account | undefined
let requestId = ''
let ids = { good: '', promotion: '', incident: '', limitRequest: '' }

before(async () => {
  if (browserSkipReason !== false) return
  const server = testServer()
  const good = await server.upstream(respondWith('Hello!', { input: 1000, output: 100 }), {
    prices: { input: '0.001', output: '0.002' },
  })
  const bad = await server.upstream(respondWithError(503), {
    name: 'a-backup-with-a-rather-long-name-cn-hangzhou',
  })
  await server.model('family-a/with-a-long-name-16k', { upstreams: [good, bad] })
  await server.model('broken-model', { upstreams: [bad] })
  customer = await server.account({ balance: '123.456', name: 'María González Fernández' })
  await customer.post(chatRequest('family-a/with-a-long-name-16k'))
  await customer.post(chatRequest('broken-model'))
  await server.admin('POST', '/vouchers', { amount: '50', count: 2 })
  await server.admin('POST', '/incidents', {
    title: 'Slow answers',
    models: ['broken-model'],
    message: 'Looking.',
  })
  await server.admin('POST', '/announcements', {
    title: { en: 'Maintenance on Sunday', 'zh-CN': '周日维护' },
    text: { en: 'From 02:00 to 03:00.', 'zh-CN': '02:00 至 03:00。' },
  })
  await server.admin('POST', '/promotions', { name: 'Welcome', amount: '1', code: 'HELLO' })
  const promotion = await server.admin<{ id: string }>('POST', '/promotions', {
    name: 'Autumn in the harbour, for those who come by the sea',
    amount: '5',
    code: 'AUTUMN',
  })
  const incident = (await server.admin<{ data: { id: string }[] }>('GET', '/incidents')).data[0]
  await server.admin('POST', '/invites', { note: 'For the people of the fair', uses: 3 })
  const session = await signUpCustomer(server, 'somebody-with-quite-a-long-address@company.example')
  const limitRequest = await session.call(accountEndpoints.requestLimits, {
    body: { wanted: { rpm: 500, tpm: 200_000 }, reason: 'A fair is coming.' },
  })
  ids = {
    good: good.id,
    promotion: promotion.id,
    incident: incident?.id ?? '',
    limitRequest: limitRequest.id,
  }
  requestId = (await server.requests())[0]?.request_id ?? ''
})

describe('Pages in a browser', () => {
  test(
    'Pages before sign-in have no accessibility violations and no clipped texts',
    { skip: browserSkipReason },
    async (t) => {
      const browser = await openBrowser(t, testServer().url)
      await browser.open('/sign-in')
      const problems: string[] = []
      for (const path of [
        ...publicPages,
        '/set-up#token',
        '/verify-email#no-such-token',
        '/reset-password#token',
        '/no-such-page',
      ]) {
        problems.push(...(await checkPage(browser, path)))
      }
      assert.deepEqual(problems, [])
    },
  )

  test(
    'Operator pages have no accessibility violations and no clipped texts',
    { skip: browserSkipReason },
    async (t) => {
      assert.ok(customer)
      const browser = await openAsOperator(t, testServer())
      const model = encodeURIComponent('family-a/with-a-long-name-16k')
      const paths = [
        '/operator/dashboard',
        '/operator/failures',
        '/operator/announcements',
        '/operator/announcements?add=yes',
        '/operator/limit-requests',
        `/operator/limit-requests?answer=${ids.limitRequest}`,
        '/operator/promotions',
        '/operator/promotions?add=yes',
        `/operator/promotions?edit=${ids.promotion}`,
        '/operator/settings',
        '/operator/upstreams',
        '/operator/upstreams?add=yes',
        `/operator/upstreams?edit=${ids.good}`,
        `/operator/upstreams?test=${ids.good}`,
        '/operator/models',
        '/operator/models?add=yes',
        '/operator/models?seed=yes',
        `/operator/models/${model}`,
        `/operator/models/${model}?edit=price`,
        `/operator/models/${model}?edit=model`,
        '/operator/accounts',
        '/operator/accounts?add=yes',
        `/operator/accounts/${customer.id}`,
        `/operator/accounts/${customer.id}?edit=limits`,
        `/operator/accounts/${customer.id}?edit=credit`,
        `/operator/accounts/${customer.id}?add=key`,
        `/operator/accounts/${customer.id}?refund=${requestId}`,
        '/operator/keys',
        '/operator/requests',
        `/operator/requests/${requestId}`,
        '/operator/people',
        '/operator/people?invite=yes',
        '/operator/tiers',
        '/operator/tiers?add=yes',
        '/operator/tiers?edit=new',
        '/operator/vouchers',
        '/operator/vouchers?add=yes',
        '/operator/incidents',
        '/operator/incidents?add=yes',
        `/operator/incidents?edit=${ids.incident}`,
        '/operator/ledger',
        '/operator/audit',
        '/profile',
      ]
      const problems = await inTwoBrowsers(t, browser, paths)
      await browser.navigate('/operator/models')
      await setView(browser, { scheme: 'light', language: 'en', width: 1440 })
      await browser.page.getByRole('checkbox', { name: 'family-a/with-a-long-name-16k' }).check()
      await browser.page.getByRole('button', { name: 'Change 1 price' }).click()
      await browser.page.getByRole('dialog').waitFor()
      problems.push(...(await checkAllViews(browser, 'prices of several models')))
      assert.deepEqual(problems, [])
    },
  )
})
