// @backend sqlite – the console is the same on both
// @suite all – runs a browser
// @drives a browser
/** The Chinese console has no English sentences: with automatic incidents, paused upstreams, failures and form errors. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { profileEndpoints } from '../../../src/http/console/auth/profile.ts'
import {
  browserSkipReason,
  openBrowser,
  sharedBrowserServer,
  type BrowserSession,
} from '../../support/console/browser.ts'
import { customerPages, operatorPages, pathsOf } from '../../support/console/console-pages.ts'
import { signUpCustomer, validPassword } from '../../support/console/console-session.ts'
import { findDialog, openAsOperator, signIn } from '../../support/console/console-steps.ts'
import { findEnglishTexts, setView } from '../../support/console/page-checks.ts'
import { Account, chatRequest } from '../../support/server/account.ts'
import type { TestServer } from '../../support/server/test-server.ts'
import { respondWith, respondWithError } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

const env = { INCIDENT_MINIMUM: '2', INCIDENT_RECOVERY: '10m' }
const testServer = await sharedBrowserServer({ env })
const email = 'customer@example.com'
const ids = { account: '', upstream: '', model: 'fails-429', requests: [''] }

/** Models whose upstreams fail in each way that pauses a circuit, and one that nobody serves. */
async function addFailingModels(relay: TestServer): Promise<string[]> {
  const working = await relay.upstream(respondWith('你好！', { input: 1000, output: 100 }))
  const statuses = [401, 402, 403, 404, 429, 500, 503]
  const models = ['working', 'unserved']
  await relay.model('working', { upstreams: [working], prices: ['1', '1'] })
  await relay.model('unserved', { upstreams: [] })
  for (const status of statuses) {
    const upstream = await relay.upstream(respondWithError(status), { name: `answers-${status}` })
    await relay.model(`fails-${status}`, { upstreams: [upstream] })
    models.push(`fails-${status}`)
  }
  const unreachable = await relay.upstreamAt('http://127.0.0.1:9/v1', { name: 'unreachable' })
  await relay.model('unreachable', { upstreams: [unreachable] })
  ids.upstream = unreachable.id
  return [...models, 'unreachable', 'unknown']
}

async function sendRequests(relay: TestServer, models: readonly string[]): Promise<void> {
  const found = await relay.admin<{ data: { id: string }[] }>('GET', `/accounts?email=${email}`)
  const customer = new Account(relay, found.data[0]?.id ?? '')
  ids.account = customer.id
  await customer.credit('100')
  await customer.newKey({ name: '官网', expires_at: '2031-02-03T04:05:06Z' })
  const send = async (model: string): Promise<void> =>
    (await customer.post(chatRequest(model))).body?.cancel()
  for (let count = 0; count < 4; count += 1) await Promise.all(models.map(send))
  await customer.newKey({ name: '测试', caps: { total: '0.000000001' } })
  await send('working')
  await relay.assertNoOpenHolds()
  const records = await customer.requests({})
  ids.requests = [...new Map(records.map((each) => [each.model, each.request_id])).values()]
}

async function addRest(relay: TestServer): Promise<void> {
  await relay.admin('POST', '/vouchers', { amount: '50', count: 2 })
  await relay.admin('POST', '/promotions', { name: '欢迎', amount: '5', code: 'HELLO' })
  await relay.admin('POST', '/invites', { note: '展会', uses: 3 })
  await relay.admin('POST', '/backups')
  await relay.admin('POST', '/channels', {
    name: 'erp',
    kind: 'webhook',
    address: 'https://erp.invalid/hook',
  })
}

before(async () => {
  if (browserSkipReason !== false) return
  const server = testServer()
  const session = await signUpCustomer(server, email)
  await session.call(profileEndpoints.update, { body: { language: 'zh-CN' } })
  await sendRequests(server, await addFailingModels(server))
  await addRest(server)
  await waitUntil(async () => {
    const { data } = await server.admin<{ data: unknown[] }>('GET', '/incidents')
    return data.length > 1 ? data : undefined
  }, 'an automatic incident')
})

async function findOnPages(browser: BrowserSession, paths: readonly string[]): Promise<string[]> {
  await setView(browser, { scheme: 'light', language: 'zh-CN', width: 1440 })
  const problems: string[] = []
  for (const path of paths) {
    await browser.navigate(path)
    await browser.page.evaluate(`for (const each of document.querySelectorAll('details')) each.open = true`)
    const texts = await findEnglishTexts(browser.page)
    problems.push(...texts.map((text) => `${path}: ${text}`))
  }
  return problems
}

describe('The Chinese console', { skip: browserSkipReason }, () => {
  test('Customer pages – have no English sentences', async (t) => {
    const browser = await openBrowser(t, testServer().url)
    await signIn(browser, email, validPassword)
    assert.deepEqual(await findOnPages(browser, pathsOf(customerPages, ids)), [])
  })

  test('Operator pages – have no English sentences', async (t) => {
    const browser = await openAsOperator(t, testServer())
    assert.deepEqual(await findOnPages(browser, pathsOf(operatorPages, ids)), [])
  })

  test('Form errors – name the field and the rule in Chinese', async (t) => {
    const browser = await openAsOperator(t, testServer())
    await setView(browser, { scheme: 'light', language: 'zh-CN', width: 1440 })
    const { page } = browser
    const forms: [string, Record<string, string>, string][] = [
      ['/operator/accounts?add=yes', { email: 'a@b' }, '邮箱必须是有效的邮箱地址'],
      ['/operator/promotions?add=yes', { name: 'a', amount: '1', days: '9999' }, '有效天数不能大于 3650'],
      ['/operator/promotions?add=yes', { name: 'a', amount: '-1' }, '金额必须大于 0'],
      [`/operator/accounts/${ids.account}?edit=limits`, { timezone: 'Mars' }, '时区必须是 IANA 时区名称'],
    ]
    for (const [path, values, text] of forms) {
      await browser.navigate(path)
      for (const [name, value] of Object.entries(values))
        await findDialog(page).locator(`[name="${name}"]`).fill(value)
      await findDialog(page).locator('button[type="submit"]').click()
      await findDialog(page).getByText(text).first().waitFor()
      assert.deepEqual(await findEnglishTexts(page), [], path)
    }
  })
})
