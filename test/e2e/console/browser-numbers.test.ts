// @backend sqlite – the sums are the same on both; reports.test.ts compares them
// @suite all – runs a browser
// @drives a browser
/** One number, one source: balance, spend, requests and success rate are equal on all pages that show them. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { browserSkipReason, openBrowser, sharedBrowserServer } from '../../support/console/browser.ts'
import { findFigure, openAsOperator, signUp } from '../../support/console/console-steps.ts'
import {
  env,
  expected,
  makeTraffic,
  removeClockFile,
  statementMonth,
  type Name,
} from '../../support/console/known-traffic.ts'
import { setView } from '../../support/console/page-checks.ts'
import {
  chart,
  column,
  findWrongNumbers,
  sentence,
  tile,
  tileNote,
  withoutDefinition,
  type NumbersOfPage,
  type ShownNumber,
} from '../../support/console/shown-numbers.ts'
import { Account } from '../../support/server/account.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

const skip = { skip: browserSkipReason }
const testServer = await sharedBrowserServer({ env })
after(removeClockFile)

function usage(requests: Name, failed: Name, spent: Name): readonly ShownNumber<Name>[] {
  return [
    tile('Requests', requests),
    tileNote('Requests', failed),
    tile('Cost', spent),
    chart('Cost', spent),
    chart('Requests', requests),
    column(['By model', 'Requests'], requests),
    column(['By model', 'Cost'], spent),
    column(['By API key', 'Requests'], requests),
    column(['By API key', 'Cost'], spent),
  ]
}

/** Every page of a customer with such numbers. */
const customerPages: readonly NumbersOfPage<Name>[] = [
  {
    path: '/overview',
    numbers: [
      tile('Balance', 'balance'),
      tile('Spent today', 'spent'),
      tile('Spent this month', 'spentMonth'),
      tile('Requests today', 'requests'),
      tileNote('Requests today', 'failed'),
      chart('Requests, last 24 hours', 'requests'),
      chart('Rejected or failed, last 24 hours', 'failed'),
      chart('Cost, last 30 days', 'spent30'),
    ],
  },
  { path: '/usage?span=24h', numbers: usage('requests', 'failed', 'spent') },
  ...['/usage', '/usage?span=7d', '/usage?span=90d', '/usage?outcome=aborted'].map((path) => ({
    path,
    numbers: usage('requests30', 'failed30', 'spent30'),
  })),
  {
    path: '/billing',
    numbers: [
      tile('Balance', 'balance'),
      tile('Available', 'balance'),
      tile('Spent today', 'spent'),
      tile('Spent this month', 'spentMonth'),
    ],
  },
  {
    path: `/billing/${statementMonth}`,
    numbers: [
      tile('Charges', 'spentMonth'),
      withoutDefinition(tile('Balance so far', 'balance')),
      column(['Charges by model', 'Requests'], 'requestsMonth'),
      column(['Charges by model', 'Amount'], 'spentMonth'),
    ],
  },
  {
    path: '/keys',
    numbers: [column(['API keys', 'Today'], 'spent'), column(['API keys', 'This month'], 'spentMonth')],
  },
  {
    path: '/models',
    numbers: [
      column(['Models', 'Success rate, 24 h'], 'successM', 'm'),
      column(['Models', 'Success rate, 24 h'], 'successN', 'n'),
    ],
  },
]

/** Every page of an operator with such numbers. */
const operatorPages = (alice: string, email: string): readonly NumbersOfPage<Name>[] => [
  {
    path: '/operator/dashboard',
    numbers: [
      tile('Revenue today', 'revenue'),
      tileNote('Revenue today', 'revenueMonth'),
      tile('Requests today', 'allRequests'),
      tile('Success rate, 24 h', 'success'),
      tileNote('Success rate, 24 h', 'success'),
      tile('Customer balances', 'balances'),
      chart('Revenue, last 24 hours', 'revenue'),
      chart('Revenue, last 30 days', 'revenue30'),
      chart('Requests, last 24 hours', 'allRequests'),
      chart('Rejected or failed, last 24 hours', 'allFailed'),
      sentence(/requests in the last 24 hours/, 'allRequests'),
      column(['Traffic flow', 'Requests'], 'allRequests'),
      column(['Traffic flow', 'Rejected or failed'], 'allFailed'),
      column(['Models this month', 'Requests'], 'allRequestsMonth'),
      column(['Models this month', 'Rejected or failed'], 'allFailedMonth'),
      column(['Models this month', 'Revenue'], 'revenueMonth'),
      column(['Models this month', 'Requests'], 'requestsMonthM', 'm'),
    ],
  },
  {
    path: '/operator/requests',
    numbers: [withoutDefinition(column(['Requests', 'Cost'], 'revenue30'))],
  },
  {
    path: '/operator/failures',
    numbers: [
      tile('Requests', 'allRequests'),
      tile('Rejected or failed', 'allFailed'),
      tile('Share rejected or failed', 'failureRate'),
      column(['Failures', 'Count'], 'allFailed'),
    ],
  },
  {
    path: '/operator/failures?model=m',
    numbers: [tile('Requests', 'requestsM'), tile('Rejected or failed', 'failedM')],
  },
  {
    path: '/operator/failures?span=30d&model=m',
    numbers: [tile('Requests', 'requestsM30'), tile('Rejected or failed', 'failedM30')],
  },
  {
    path: '/operator/incidents',
    numbers: [
      column(['Availability', 'Last 24 hours'], 'successM', 'm'),
      column(['Availability', 'This month'], 'successMonthM', 'm'),
      column(['Availability', 'Succeeded this month'], 'answeredMonthM', 'm'),
      column(['Availability', 'Service errors this month'], 'failedMonthM', 'm'),
      column(['Availability', 'Last 24 hours'], 'successN', 'n'),
      column(['Availability', 'This month'], 'successN', 'n'),
    ],
  },
  {
    path: '/operator/models/m',
    numbers: [
      tile('Requests, 30 days', 'requestsM30'),
      tileNote('Requests, 30 days', 'failedM30'),
      tile('Success rate, 24 h', 'successM'),
      tile('Revenue, 30 days', 'revenueM30'),
    ],
  },
  {
    path: '/operator/accounts',
    numbers: [
      column(['Accounts', 'Balance'], 'balances'),
      column(['Accounts', 'Balance'], 'balance', email),
      column(['Accounts', 'Spent today'], 'revenue'),
      column(['Accounts', 'Spent today'], 'spent', email),
      column(['Accounts', 'This month'], 'spentMonth', email),
    ],
  },
  {
    path: `/operator/accounts/${alice}`,
    numbers: [
      tile('Balance', 'balance'),
      tile('Available', 'balance'),
      tile('Spent today', 'spent'),
      tile('Spent this month', 'spentMonth'),
      column(['API keys', 'This month'], 'spentMonth'),
    ],
  },
  { path: '/operator/keys', numbers: [column(['All API keys', 'This month'], 'revenueMonth')] },
]

describe('Numbers in a browser', () => {
  test('Balance, spend, requests, success rate – are equal and defined on all pages', skip, async (t) => {
    const email = 'numbers@example.com'
    const customer = await openBrowser(t, testServer().url)
    await signUp(customer, email)
    const found = await testServer().admin<{ data: { id: string }[] }>('GET', `/accounts?q=${email}`)
    const alice = new Account(testServer(), found.data[0]?.id ?? '')
    await makeTraffic(testServer(), alice)
    const problems: string[] = []
    for (const page of customerPages) {
      await customer.open(page.path)
      problems.push(...(await findWrongNumbers(customer.page, page, expected)))
    }
    const operator = await openAsOperator(t, testServer())
    for (const page of operatorPages(alice.id, email)) {
      await operator.open(page.path)
      problems.push(...(await findWrongNumbers(operator.page, page, expected)))
    }
    await operator.page.goto('/status?lang=en')
    const status = (model: string, name: Name): ShownNumber<Name> => ({
      place: model,
      name,
      read: (page) =>
        page
          .locator('.model')
          .filter({ has: page.getByRole('heading', { name: model, exact: true }) })
          .locator('strong')
          .allTextContents(),
    })
    const numbers = [status('m', 'success90M'), status('n', 'successN')]
    problems.push(...(await findWrongNumbers(operator.page, { path: '/status', numbers }, expected)))
    assert.deepEqual(problems, [])
  })

  test('Definition – is shown on hover and on focus, in both languages', skip, async (t) => {
    const customer = await openBrowser(t, testServer().url)
    await signUp(customer, 'tooltips@example.com')
    await customer.open('/overview')
    const name = customer.page.getByRole('button', { name: 'Requests today' })
    const tooltip = customer.page.getByRole('tooltip')
    await name.hover()
    await tooltip.getByText(/^All requests received since midnight/).waitFor()
    await customer.page.mouse.move(0, 0)
    await tooltip.waitFor({ state: 'detached' })
    await name.focus()
    await tooltip.waitFor()
    await customer.page.keyboard.press('Escape')
    await tooltip.waitFor({ state: 'detached' })
    await setView(customer, { scheme: 'light', language: 'zh-CN', width: 1440 })
    await customer.page.getByRole('button', { name: '今日请求数' }).hover()
    await tooltip.getByText(/收到的全部请求/).waitFor()
  })

  test('Playground – shows the times of the request’s record', skip, async (t) => {
    const upstream = await testServer().upstream(respondWith('Hello!'))
    await testServer().model('chat', { upstreams: [upstream], prices: ['0', '0'] })
    const customer = await openBrowser(t, testServer().url)
    await signUp(customer, 'playground@example.com')
    await customer.open('/playground?model=chat')
    await customer.page.getByRole('textbox', { name: /^Type a message/ }).fill('hello')
    await customer.page.getByRole('button', { name: 'Send' }).click()
    const shown = customer.page.getByText(/^first token .* ms, total .* ms$/)
    const [, firstToken, duration] = /token (.*), total (.*)/.exec((await shown.textContent()) ?? '') ?? []
    const requestId = await customer.page.locator('article .copyable code').textContent()
    await customer.open(`/usage/${requestId}`)
    const figure = (title: string) => findFigure(customer.page, title).locator('dd strong').textContent()
    assert.deepEqual([await figure('First token'), await figure('Duration')], [firstToken, duration])
  })
})
