// @backend both
/** The admin API behind the operator pages: dashboard, failures, search, settings, limit requests, announcements. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { accountEndpoints } from '../../../src/http/console/account/account.ts'
import { passwordResetEndpoints } from '../../../src/http/console/auth/password-reset.ts'
import { dashboard, type Dashboard } from '../../../src/http/admin/monitoring/dashboard.ts'
import { searchResult } from '../../../src/http/admin/system/search.ts'
import { failures, type Failures } from '../../../src/http/admin/traffic/failures.ts'
import { z } from 'zod'
import { chatRequest } from '../../support/server/account.ts'
import { ConsoleSession, setUpOperator, validPassword } from '../../support/console/console-session.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWithError, respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

const password = 'smtp-canary-password'
const server = await sharedTestServer({ env: { SMTP_URL: `smtp://canary:${password}@127.0.0.1:1` } })
const upstream = await server.upstream(respondWith('Hello!', { input: 1000, output: 100 }), {
  prices: { input: '0.001', output: '0.001' },
})
await server.model('m', { upstreams: [upstream] })
await server.model('lonely', { upstreams: [] })
const operator = await setUpOperator(server)

/** A customer who signs in with an access link: with SMTP_URL, sign-up would send an e-mail. */
async function createCustomer(email: string): Promise<ConsoleSession> {
  const { id } = await operator.admin<{ id: string }>('POST', '/accounts', { email, tier: 'new' })
  const { url } = await operator.admin<{ url: string }>('POST', `/accounts/${id}/access-link`)
  const session = new ConsoleSession(server.url)
  const token = url.slice(url.indexOf('#') + 1)
  await session.call(passwordResetEndpoints.resetPassword, { body: { token, password: validPassword } })
  await session.signIn(email, validPassword)
  return session
}

describe('Operator console API', () => {
  test('Dashboard – shows revenue and cost; failures are grouped by cause and upstream', async () => {
    const alice = await server.account({ balance: '1' })
    for (let count = 0; count < 3; count += 1) await (await alice.post(chatRequest('m'))).text()
    upstream.next(respondWithError(500, 'down'))
    assert.equal((await alice.post(chatRequest('m'))).status, 503)
    assert.equal((await alice.post(chatRequest('nonsense'))).status, 404)
    const poor = await server.account()
    assert.equal((await poor.post(chatRequest('m'))).status, 402)
    // Settled requests are rolled up shortly afterwards.
    const summary = await waitUntil(async () => {
      const current = dashboard.parse(await operator.admin<Dashboard>('GET', '/dashboard'))
      return current.today.requests === 6 ? current : undefined
    }, 'six requests on the dashboard')
    assert.deepEqual(summary.today, {
      requests: 6,
      errors: 3,
      revenue: '0.0066',
      upstream_cost: '0.0033',
      requests_without_cost: 0,
      margin: '0.0033',
    })
    assert.deepEqual(summary.month, summary.today)
    assert.equal(summary.hours.length, 24)
    assert.deepEqual(summary.models.find(({ model }) => model === 'm')?.revenue, '0.0066')
    assert.deepEqual(summary.unserved, [{ model: 'lonely', missing: 'route' }])
    assert.deepEqual(summary.steps, {
      has_upstream: true,
      has_model: true,
      has_account: true,
      has_request: true,
    })
    const report = failures.parse(await operator.admin<Failures>('GET', '/failures'))
    assert.deepEqual([report.requests, report.failures], [6, 3])
    const groups = report.data.map(({ cause, stage, owner, upstream: at, model, count }) => [
      cause,
      stage,
      owner,
      at,
      model,
      count,
    ])
    assert.deepEqual(
      groups.toSorted((left, right) => String(left[0]).localeCompare(String(right[0]))),
      [
        ['insufficient_quota', 'money', 'caller', null, 'm', 1],
        ['model_not_found', 'request', 'caller', null, '', 1],
        ['unavailable', 'upstream', 'upstream', upstream.id, 'm', 1],
      ],
    )
    const sample = report.data.find(({ cause }) => cause === 'unavailable')
    assert.equal(sample?.upstream_name, upstream.name)
    const detail = await operator.admin('GET', `/requests/${sample?.sample_request_id ?? ''}`)
    assert.partialDeepStrictEqual(detail, {
      error_code: 'upstream_unavailable',
      failure: { cause: 'unavailable', stage: 'upstream', owner: 'upstream' },
    })
  })

  test('Dashboard – names open incidents, open circuits and open limit requests', async () => {
    const failing = await server.upstream(respondWithError(503), { name: 'failing' })
    await server.model('broken', { upstreams: [failing] })
    const alice = await server.account({ balance: '1' })
    for (let count = 0; count < 8; count += 1) await (await alice.post(chatRequest('broken'))).text()
    const read = () => operator.admin<Dashboard>('GET', '/dashboard')
    const { open_circuits: circuits } = await waitUntil(async () => {
      const current = dashboard.parse(await read())
      return current.open_circuits.length > 0 ? current : undefined
    }, 'the open circuit')
    assert.deepEqual(
      circuits.map(({ upstream: id, name, model, state }) => [id, name, model, state]),
      [[failing.id, 'failing', 'broken', 'open']],
    )
    const about = { models: ['m'], severity: 'critical', public: false }
    const { id } = await operator.admin<{ id: string }>('POST', '/incidents', { ...about, title: 'Slow' })
    await operator.admin('POST', '/incidents', { ...about, title: 'Past', status: 'resolved' })
    const incidents = (await read()).open_incidents.filter(({ models }) => models.includes('m'))
    assert.deepEqual(
      incidents.map(({ id: found, title, severity }) => [found, title['zh-CN'], severity]),
      [[id, 'Slow', 'critical']],
    )
    const { counts } = await operator.call(accountEndpoints.announcements)
    assert.equal(counts.operator?.incidents, (await read()).open_incidents.length)
    await operator.admin('PATCH', `/incidents/${id}`, { status: 'resolved' })
    const asking = await createCustomer('asking@example.com')
    const body = { wanted: { rpm: 500 }, reason: 'A fair.' }
    const request = await asking.call(accountEndpoints.requestLimits, { body })
    assert.equal((await read()).open_limit_requests, 1)
    const open = (await operator.call(accountEndpoints.announcements)).counts.operator
    assert.equal(open?.limit_requests, 1)
    assert.deepEqual((await asking.call(accountEndpoints.announcements)).counts, {
      notices: 0,
      operator: null,
    })
    await operator.admin('POST', `/limit-requests/${request.id}`, { decision: 'decline' })
    const after = await read()
    assert.deepEqual([after.open_limit_requests, after.failed_backup], [0, null])
    assert.equal(after.link_url, `http://localhost:${new URL(server.url).port}`)
  })

  test('Search – finds anything that a customer may quote', async () => {
    const alice = await server.account({ balance: '1' })
    const response = await alice.post(chatRequest('m'))
    await response.text()
    const { email } = await alice.state()
    const requestId = response.headers.get('x-request-id') ?? ''
    const results = z.object({ data: z.array(searchResult) })
    const search = async (q: string): Promise<unknown[]> => {
      const { data } = results.parse(await operator.admin('GET', `/search?q=${encodeURIComponent(q)}`))
      return data.map(({ kind, id }) => [kind, id])
    }
    assert.deepEqual(await search(email.slice(0, -4)), [['account', alice.id]])
    assert.deepEqual(await search(alice.id), [['account', alice.id]])
    assert.deepEqual(await search(alice.key.secret.slice(0, 11)), [['key', alice.key.id]])
    assert.deepEqual(await search(alice.key.id), [['key', alice.key.id]])
    assert.deepEqual(await search(requestId), [['request', requestId]])
    assert.deepEqual(await search(upstream.name), [['upstream', upstream.id]])
    assert.deepEqual(await search('lonely'), [['model', 'lonely']])
    assert.deepEqual(await search('%%'), [])
  })

  test('Settings – are listed with their values, secrets only masked', async () => {
    const { data } = await operator.admin<{ data: { env: string; value: string | null }[] }>(
      'GET',
      '/settings',
    )
    const settingValue = (env: string) => data.find((each) => each.env === env)?.value
    assert.deepEqual(
      [settingValue('HOST'), settingValue('SMTP_URL'), settingValue('ENCRYPTION_KEY')],
      ['127.0.0.1', '•••', null],
    )
    assert.deepEqual(
      ['BODY_LIMIT', 'STALE_KEYS', 'DELETE_STALE_KEYS', 'STATUS_PAGE', 'NODE_ENV'].map(settingValue),
      ['32MiB', '90d', '0s', '1', null],
    )
    assert.ok(
      !JSON.stringify(data).includes(password) && !JSON.stringify(data).includes(server.relay.adminKey),
    )
  })

  test('Limit request – is granted or declined once, and granted limits apply', async () => {
    const ann = await createCustomer('ann@example.com')
    const request = await ann.call(accountEndpoints.requestLimits, {
      body: { wanted: { rpm: 500, rpd: 9000 }, reason: 'A fair.' },
    })
    const open = await operator.admin<{ data: { id: string; account_email: string }[] }>(
      'GET',
      '/limit-requests?status=open',
    )
    assert.deepEqual(
      open.data.map(({ id, account_email: email }) => [id, email]),
      [[request.id, 'ann@example.com']],
    )
    const body = { decision: 'grant', answer: 'Good luck!' }
    await operator.admin('POST', `/limit-requests/${request.id}`, body)
    const again = await operator.fetch('POST', `/api/admin/limit-requests/${request.id}`, body)
    assert.equal(again.status, 409)
    const { limits, requests } = await ann.call(accountEndpoints.limits)
    assert.deepEqual([limits.rpm, limits.tpm, limits.rpd], [500, 100_000, 9000])
    assert.deepEqual([requests[0]?.status, requests[0]?.answer], ['granted', 'Good luck!'])
    const second = await ann.call(accountEndpoints.requestLimits, {
      body: { wanted: { rpm: 5000 }, reason: 'More.' },
    })
    await operator.admin('POST', `/limit-requests/${second.id}`, { decision: 'decline' })
    assert.equal((await ann.call(accountEndpoints.limits)).limits.rpm, 500)
  })

  test('Announcement – is shown to signed-in users during its time', async () => {
    const bob = await createCustomer('bob@example.com')
    const announcement = {
      title: { en: 'Maintenance', 'zh-CN': '维护' },
      text: { en: 'Tonight.' },
      severity: 'warning',
    }
    const { id } = await operator.admin<{ id: string }>('POST', '/announcements', announcement)
    const later = { ...announcement, from: new Date(Date.now() + 3_600_000).toISOString() }
    await operator.admin('POST', '/announcements', later)
    const current = (await bob.call(accountEndpoints.announcements)).data
    assert.deepEqual(
      current.map((each) => [each.id, each.title['zh-CN']]),
      [[id, '维护']],
    )
    const ended = { to: new Date(Date.now() - 1000).toISOString() }
    const updated = await operator.admin<{ severity: string }>('PATCH', `/announcements/${id}`, ended)
    assert.equal(updated.severity, 'warning', 'what is not sent stays as it is')
    assert.deepEqual((await bob.call(accountEndpoints.announcements)).data, [])
    await operator.admin('DELETE', `/announcements/${id}`)
    assert.equal((await operator.admin<{ data: object[] }>('GET', '/announcements')).data.length, 1)
  })
})
