/** Every page of the console with something on it, in both languages and themes, at a desk and on a phone. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { accountCalls } from '../src/http/console/contract/account.ts'
import { question, type Account } from './support/server/account.ts'
import { customerOf } from './browser.ts'
import { becomeOperator, visitor, withoutBrowser } from './support/console/browser.ts'
import { shareHouse } from './support/server/test-server.ts'
import { faultsAlong, faultsOf, faultsSeen, setView } from './support/console/page-checks.ts'
import { failing, saying } from './support/upstream/scripted-responses.ts'

const house = withoutBrowser === false ? await shareHouse() : undefined
let customer: Account | undefined
let requestId = ''
let ids = { good: '', promotion: '', incident: '', asked: '' }

before(async () => {
  if (house === undefined) return
  const good = await house.upstream(saying('Hello!', { input: 1000, output: 100 }), {
    prices: { input: '0.001', output: '0.002' },
  })
  const bad = await house.upstream(failing(503), { name: 'a-backup-with-a-rather-long-name-cn-hangzhou' })
  await house.model('family-a/with-a-long-name-16k', { upstreams: [good, bad] })
  await house.model('broken-model', { upstreams: [bad] })
  customer = await house.account({ balance: '123.456', name: 'María González Fernández' })
  await customer.post(question('family-a/with-a-long-name-16k'))
  await customer.post(question('broken-model'))
  await house.admin('POST', '/vouchers', { amount: '50', count: 2 })
  await house.admin('POST', '/incidents', {
    title: 'Slow answers',
    models: ['broken-model'],
    message: 'Looking.',
  })
  await house.admin('POST', '/announcements', {
    title: { en: 'Maintenance on Sunday', 'zh-CN': '周日维护' },
    text: { en: 'From 02:00 to 03:00.', 'zh-CN': '02:00 至 03:00。' },
  })
  await house.admin('POST', '/promotions', { name: 'Welcome', amount: '1', code: 'HELLO' })
  const promotion = await house.admin<{ id: string }>('POST', '/promotions', {
    name: 'Autumn in the harbour, for those who come by the sea',
    amount: '5',
    code: 'AUTUMN',
  })
  const incident = (await house.admin<{ data: { id: string }[] }>('GET', '/incidents')).data[0]
  await house.admin('POST', '/invites', { note: 'For the people of the fair', uses: 3 })
  const person = await customerOf(house, 'somebody-with-quite-a-long-address@company.example')
  const asked = await person.ask(accountCalls.askLimits, {
    body: { wanted: { rpm: 500, tpm: 200_000 }, reason: 'A fair is coming.' },
  })
  ids = { good: good.id, promotion: promotion.id, incident: incident?.id ?? '', asked: asked.id }
  requestId = (await house.requests())[0]?.request_id ?? ''
})

test(
  'the pages before signing in can be read whole and by everybody',
  { skip: withoutBrowser },
  async (t) => {
    assert.ok(house)
    const me = await visitor(t, house.url)
    await me.open('/sign-in')
    const faults: string[] = []
    for (const path of [
      '/sign-in',
      '/sign-up',
      '/reset-password',
      '/set-up',
      '/set-up#token',
      '/verify-email',
      '/verify-email#no-such-token',
      '/reset-password#token',
      '/no-such-page',
    ]) {
      faults.push(...(await faultsOf(me, path)))
    }
    assert.deepEqual(faults, [])
  },
)

test('an operator’s pages can be read whole and by everybody', { skip: withoutBrowser }, async (t) => {
  assert.ok(house && customer)
  const me = await visitor(t, house.url)
  await becomeOperator(me, house.log)
  const model = encodeURIComponent('family-a/with-a-long-name-16k')
  const paths = [
    '/operator/dashboard',
    '/operator/failures',
    '/operator/announcements',
    '/operator/announcements?add=yes',
    '/operator/limit-requests',
    `/operator/limit-requests?answer=${ids.asked}`,
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
  const faults = await faultsAlong(me, paths)
  await me.go('/operator/models')
  await setView(me, { scheme: 'light', language: 'en', width: 1440 })
  await me.page.getByRole('checkbox', { name: 'family-a/with-a-long-name-16k' }).check()
  await me.page.getByRole('button', { name: 'Change the prices of 1' }).click()
  await me.page.getByRole('dialog').waitFor()
  faults.push(...(await faultsSeen(me, 'prices of several models')))
  assert.deepEqual(faults, [])
})
