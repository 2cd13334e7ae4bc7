// @backend both (cluster in long runs)
/** The public status page: what it shows and what it must not show. */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'

import { chatRequest } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { startWebhookSink } from '../../support/sinks/webhook-sinks.ts'
import { respondWithError, respondWith } from '../../support/upstream/scripted-responses.ts'
import { executeSql } from '../../support/server/database-access.ts'
import { waitUntil } from '../../support/wait.ts'

interface Status {
  state: string
  base_urls: { url: string; state: string }[]
  models: {
    id: string
    state: string
    success_percent: number | null
    objective_percent: number
    days: { date: string; success_percent: number | null }[]
  }[]
  incidents: { id: string; title: string; models: string[]; updates: { message: string }[] }[]
}

const dayMs = 86_400_000
const healthy = { body: '{"status":"ok"}' }
const second = await startWebhookSink(() => healthy)
const env = {
  PUBLIC_URLS: `http://one.example/v1/, ${second.url}`,
  PUBLIC_URL_CHECK: '1s',
  INCIDENT_RECOVERY: '2s',
}
const server = await sharedTestServer({ env })
const upstream = await server.upstream(respondWith('Hello!'), { name: 'secret-upstream-name' })
await server.model('shown', { upstreams: [upstream] })
await server.model('hidden-model', { upstreams: [upstream], listed: false })

function get(path: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${server.url}${path}`, { headers })
}

async function readStatus(): Promise<Status> {
  return (await (await get('/status.json')).json()) as Status
}

/** Repeats a statement while the relay is writing to its SQLite database. */
async function executeWhileRunning(statement: string): Promise<void> {
  await waitUntil(async () => {
    try {
      await executeSql(server.relay, statement)
      return true
    } catch (error) {
      if (!String(error).includes('database is locked')) throw error
      return false
    }
  }, 'the database to be free')
}

describe('Status page', () => {
  // The first test, because no request has failed yet.
  test('90 days – are shown by day, and no percentage is rounded up', async () => {
    await server.model('old', { upstreams: [upstream] })
    const today = Date.now() - (Date.now() % dayMs)
    const days = [
      [today - 89 * dayMs, 10, 0],
      [today - dayMs, 99_999, 1],
      [today, 1, 1],
      [today - 90 * dayMs, 0, 1000],
    ]
    const rows = days.map((day) => `('old', ${day.join(', ')}, 0)`)
    await executeWhileRunning(`insert into availability_days values ${rows.join(', ')}`)
    const { models, state } = await waitUntil(async () => {
      const status = await readStatus()
      return status.models.some(({ id, success_percent: percent }) => id === 'old' && percent !== null)
        ? status
        : undefined
    }, 'the days')
    const old = models.find(({ id }) => id === 'old')
    const shownDays = old?.days ?? []
    assert.equal(state, 'up')
    assert.deepEqual(
      [0, 44, 88, 89].map((index) => shownDays[index]?.success_percent),
      [100, null, 99.99, 50],
    )
    assert.equal(old?.success_percent, 99.99)
    const html = await (await get('/status?lang=en')).text()
    assert.ok(html.includes(`class="good" title="${shownDays[0]?.date}: 100 %"`))
    const withoutRequests = html.split(`class="none" title="${shownDays[44]?.date}: no requests"`)
    assert.equal(withoutRequests.length - 1, models.length + 1, 'the models and the relay itself')
    assert.ok(html.includes(`class="bad" title="${shownDays[89]?.date}: 50 %"`))
    await server.admin('DELETE', '/models/old')
  })

  test('Outage – shows within half a minute, in both languages, and in the RSS feed', async () => {
    const account = await server.account({ balance: '¥1' })
    for (let sent = 0; sent < 3; sent += 1) await (await account.post(chatRequest('shown'))).text()
    upstream.always(respondWithError(503))
    const status = await waitUntil(async () => {
      for (const model of ['shown', 'hidden-model']) await (await account.post(chatRequest(model))).text()
      const current = await readStatus()
      return current.state === 'down' ? current : undefined
    }, 'the outage')
    upstream.always(respondWith('Hello!'))
    assert.deepEqual(
      status.models.map(({ id, state }) => [id, state]),
      [['shown', 'down']],
    )
    assert.equal(status.models[0]?.days.length, 90)
    assert.equal(status.models[0]?.days.at(-1)?.date, new Date().toISOString().slice(0, 10))
    assert.match(status.incidents[0]?.title ?? '', /^shown: requests are failing$/)

    const english = await (await get('/status')).text()
    assert.match(english, /<html lang="en">/)
    assert.match(english, /✕<\/span> Down/)
    const chinese = await (await get('/status', { 'accept-language': 'fr;q=0.9, zh-TW, en;q=0.8' })).text()
    assert.match(chinese, /<html lang="zh-CN">/)
    assert.match(chinese, /shown 请求异常/)
    assert.match(chinese, /不可用/)
    assert.doesNotMatch(chinese.replaceAll(/<style>.*?<\/style>/gs, ''), /Requests|Operational|incidents/)
    const rss = await get('/status.rss?lang=zh')
    assert.match(rss.headers.get('content-type') ?? '', /^application\/rss\+xml/)
    assert.match(await rss.text(), /<title>调查中: shown 请求异常<\/title>/)
  })

  test('Page – has no scripts and shows no upstreams, costs, counts or unlisted models', async () => {
    const page = await get('/status')
    const html = await page.text()
    assert.doesNotMatch(html, /<script|javascript:|\son\w+=|https?:\/\/(?!one\.example|127\.0\.0\.1)/i)
    const style = /<style>([^]*?)<\/style>/.exec(html)?.[1] ?? ''
    const hash = createHash('sha256').update(style).digest('base64')
    const policy = page.headers.get('content-security-policy') ?? ''
    assert.ok(policy.includes(`style-src 'sha256-${hash}'`) && policy.includes("default-src 'none'"), policy)
    for (const path of ['/status', '/status.json', '/status.rss']) {
      const text = (await (await get(path)).text()).replace(style, '')
      assert.doesNotMatch(
        text,
        /secret-upstream-name|hidden-model|"answered":|"failed":|cost|margin|acc_|key_/,
        path,
      )
    }
  })

  test('Incident texts – are escaped, and only public incidents are shown', async () => {
    const evil = '</title><script>alert(1)</script> & "quoted"'
    const fields = { title: evil, message: `${evil}\u0007`, models: ['shown'] }
    await server.admin('POST', '/incidents', { ...fields, status: 'resolved' })
    await server.admin('POST', '/incidents', { ...fields, title: 'For us alone', public: false })
    await server.admin('POST', '/incidents', { ...fields, title: 'Of another', models: ['hidden-model'] })
    await waitUntil(
      async () => (await readStatus()).incidents.some(({ title }) => title === evil),
      'the incident',
    )
    for (const path of ['/status', '/status.rss']) {
      const text = await (await get(path)).text()
      assert.ok(
        text.includes('&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;quoted&quot;'),
        path,
      )
      assert.doesNotMatch(text, /<script|For us alone|Of another/)
      assert.ok(!text.includes('\u0007'))
    }
  })

  test('Public base URLs – are listed and checked; operators hear of failure and recovery', async () => {
    const states = async () => (await readStatus()).base_urls.map(({ url, state }) => [url, state])
    const expected = [`http://one.example/v1`, `${second.url}/v1`]
    await waitUntil(
      async () => (await states()).every(([, state]) => state !== 'unknown'),
      'checks of both URLs',
    )
    assert.deepEqual(await states(), [
      [expected[0], 'down'],
      [expected[1], 'up'],
    ])
    assert.equal(second.received[0]?.url.pathname, '/healthz')
    second.respond = () => ({ status: 302, headers: { location: server.url } })
    const codes = async (): Promise<string[]> => {
      const path = '/notices?audience=operator&kind=address'
      const { data } = await server.admin<{ data: { code: string; params: { url: string } }[] }>('GET', path)
      return data.filter(({ params }) => params.url === second.url).map(({ code }) => code)
    }
    await waitUntil(async () => (await codes()).includes('address_down'), 'the notification')
    second.respond = () => ({ body: '<html>This domain is for sale.</html>' })
    const checksBefore = second.received.length
    await waitUntil(() => second.received.length > checksBefore + 1, 'another check')
    await waitUntil(async () => (await states())[1]?.[1] === 'down', 'the page to show it')
    second.respond = () => healthy
    await waitUntil(async () => (await codes()).includes('address_up'), 'the recovery notification')
    assert.deepEqual(await codes(), ['address_up', 'address_down'])
    const { data } = await server.admin<{
      data: { primary: boolean; state: string; problem: string | null }[]
    }>('GET', '/addresses')
    assert.deepEqual(
      data.map(({ primary, state, problem }) => [primary, state, problem === null]),
      [
        [true, 'down', false],
        [false, 'up', true],
      ],
    )
    const ready = server.log.find((line) => line.includes('"msg":"ready"')) ?? '{}'
    const { urls } = JSON.parse(ready) as { urls: string[] }
    assert.deepEqual(urls, ['http://one.example/v1', `${second.url}/v1`])
  })

  test('Compression – gzip for clients that accept it, the same content for others', async () => {
    for (const path of ['/status', '/status.json', '/status.rss', '/openapi.json']) {
      const compressed = await get(path, { 'accept-encoding': 'gzip' })
      const plain = await get(path, { 'accept-encoding': 'identity' })
      assert.equal(compressed.headers.get('content-encoding'), 'gzip', path)
      assert.equal(plain.headers.get('content-encoding'), null, path)
      const [short, long] = [compressed, plain].map(({ headers }) => Number(headers.get('content-length')))
      assert.ok((short ?? 0) > 0 && (short ?? 0) < (long ?? 0), path)
      for (const { headers } of [compressed, plain])
        assert.match(headers.get('vary') ?? '', /accept-encoding/)
      const pair = await Promise.all([compressed.text(), plain.text()])
      if (path === '/openapi.json') assert.equal(pair[0], pair[1])
      else assert.equal(pair[0].length, pair[1].length, path)
    }
  })

  test('HTTP behavior – cached for seconds, supports HEAD, rejects POST, 404 when disabled', async () => {
    const head = await fetch(`${server.url}/status`, { method: 'HEAD' })
    assert.deepEqual([head.status, await head.text()], [200, ''])
    assert.match(head.headers.get('cache-control') ?? '', /max-age=5/)
    const postResponse = await fetch(`${server.url}/status`, { method: 'POST', body: 'x' })
    assert.deepEqual([postResponse.status, postResponse.headers.get('allow')], [405, 'GET, HEAD'])
    await server.restart({ STATUS_PAGE: '0' })
    for (const path of ['/status', '/status.json', '/status.rss?lang=en'])
      assert.equal((await get(path)).status, 404, path)
  })
})
