/** The public status: what everybody may read of how the relay is, and what nobody reads there. */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { question } from './support/server/account.ts'
import { openHouse, shareHouse, type House } from './support/server/test-server.ts'
import { openReceiver } from './support/sinks/webhook-sinks.ts'
import { failing, saying } from './support/upstream/scripted-responses.ts'
import { tamperWith } from './support/server/database-access.ts'

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
const well = { body: '{"status":"ok"}' }
const second = await openReceiver(() => well)
const env = {
  PUBLIC_URLS: `http://one.example/v1/, ${second.url}`,
  PUBLIC_URL_CHECK: '1s',
  INCIDENT_RECOVERY: '2s',
}
const house = await shareHouse({ env })
const upstream = await house.upstream(saying('Hello!'), { name: 'secret-upstream-name' })
await house.model('shown', { upstreams: [upstream] })
await house.model('hidden-model', { upstreams: [upstream], listed: false })

function get(path: string, headers: Record<string, string> = {}, at: House = house): Promise<Response> {
  return fetch(`${at.url}${path}`, { headers })
}

async function statusOf(at: House = house): Promise<Status> {
  return (await (await get('/status.json', {}, at)).json()) as Status
}

async function until<Found>(what: string, look: () => Promise<Found>): Promise<NonNullable<Found>> {
  for (const start = performance.now(); performance.now() - start < 60_000; await delay(100)) {
    const found = await look()
    if (found !== undefined && found !== null && found !== false) return found
  }
  assert.fail(`not within 30 seconds: ${what}`)
}

test('an outage shows on the page within half a minute, in both languages, and as a post that feed readers get', async () => {
  const account = await house.account({ balance: '¥1' })
  for (let sent = 0; sent < 3; sent += 1) await (await account.post(question('shown'))).text()
  upstream.always(failing(503))
  const status = await until('the outage', async () => {
    for (const model of ['shown', 'hidden-model']) await (await account.post(question(model))).text()
    const now = await statusOf()
    return now.state === 'down' ? now : undefined
  })
  upstream.always(saying('Hello!'))
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
  assert.match(chinese, /shown：请求正在失败/)
  assert.match(chinese, /不可用/)
  assert.doesNotMatch(chinese.replaceAll(/<style>.*?<\/style>/gs, ''), /Requests|Operational|incidents/)
  const rss = await get('/status.rss?lang=zh')
  assert.match(rss.headers.get('content-type') ?? '', /^application\/rss\+xml/)
  assert.match(await rss.text(), /<title>正在调查: shown：请求正在失败<\/title>/)
})

test('the page has no scripts, allows none, and says nothing of upstreams, costs, counts and models that are not listed', async () => {
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

test('what people write is text: markup in it is shown, and no posts but the public ones', async () => {
  const evil = '</title><script>alert(1)</script> & "quoted"'
  const fields = { title: evil, message: `${evil}\u0007`, models: ['shown'] }
  await house.admin('POST', '/incidents', { ...fields, status: 'resolved' })
  await house.admin('POST', '/incidents', { ...fields, title: 'For us alone', public: false })
  await house.admin('POST', '/incidents', { ...fields, title: 'Of another', models: ['hidden-model'] })
  await until('the incident', async () => (await statusOf()).incidents.some(({ title }) => title === evil))
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

test('ninety days are shown by day, and no share is rounded up', async (t) => {
  const own = await openHouse(t)
  await own.model('old', { upstreams: [await own.upstream(saying('Hello!'))] })
  await own.stop()
  const today = Date.now() - (Date.now() % dayMs)
  const days = [
    [today - 89 * dayMs, 10, 0],
    [today - dayMs, 99_999, 1],
    [today, 1, 1],
    [today - 90 * dayMs, 0, 1000],
  ]
  const rows = days.map((day) => `('old', ${day.join(', ')}, 0)`)
  await tamperWith(own.relay, `insert into availability_days values ${rows.join(', ')}`)
  await own.restart()
  const { models, state } = await statusOf(own)
  const shown = models[0]?.days ?? []
  assert.equal(state, 'up')
  assert.deepEqual(
    [0, 44, 88, 89].map((index) => shown[index]?.success_percent),
    [100, null, 99.99, 50],
  )
  assert.equal(models[0]?.success_percent, 99.99)
  const html = await (await get('/status?lang=en', {}, own)).text()
  assert.ok(html.includes(`class="good" title="${shown[0]?.date}: 100 %"`))
  assert.ok(html.includes(`class="none" title="${shown[44]?.date}: no requests"`))
  assert.ok(html.includes(`class="bad" title="${shown[89]?.date}: 50 %"`))
})

test('all public addresses are told to users, each looked at from here, and operators hear when one fails and is back', async () => {
  const states = async () => (await statusOf()).base_urls.map(({ url, state }) => [url, state])
  const expected = [`http://one.example/v1`, `${second.url}/v1`]
  await until('both looked at', async () => (await states()).every(([, state]) => state !== 'unknown'))
  assert.deepEqual(await states(), [
    [expected[0], 'down'],
    [expected[1], 'up'],
  ])
  assert.equal(second.received[0]?.url.pathname, '/healthz')
  second.answer = () => ({ status: 302, headers: { location: house.url } })
  const codes = async (): Promise<string[]> => {
    const path = '/notices?audience=operator&kind=address'
    const { data } = await house.admin<{ data: { code: string; params: { url: string } }[] }>('GET', path)
    return data.filter(({ params }) => params.url === second.url).map(({ code }) => code)
  }
  await until('the notice', async () => (await codes()).includes('address_down'))
  second.answer = () => ({ body: '<html>This domain is for sale.</html>' })
  const looks = second.received.length
  await until('another look', async () => second.received.length > looks + 1)
  await until('the page to say so', async () => (await states())[1]?.[1] === 'down')
  second.answer = () => well
  await until('the other notice', async () => (await codes()).includes('address_up'))
  assert.deepEqual(await codes(), ['address_up', 'address_down'])
  const { data } = await house.admin<{ data: { primary: boolean; state: string; problem: string | null }[] }>(
    'GET',
    '/addresses',
  )
  assert.deepEqual(
    data.map(({ primary, state, problem }) => [primary, state, problem === null]),
    [
      [true, 'down', false],
      [false, 'up', true],
    ],
  )
  const welcome = house.log.join('\n')
  assert.match(welcome, /http:\/\/one\.example\/v1/)
  assert.ok(welcome.includes(`Also at ${second.url}/v1`))
})

test('it is cached for seconds, answers HEAD, takes no writing, and is nowhere when switched off', async (t) => {
  const head = await fetch(`${house.url}/status`, { method: 'HEAD' })
  assert.deepEqual([head.status, await head.text()], [200, ''])
  assert.match(head.headers.get('cache-control') ?? '', /max-age=5/)
  const post = await fetch(`${house.url}/status`, { method: 'POST', body: 'x' })
  assert.deepEqual([post.status, post.headers.get('allow')], [405, 'GET, HEAD'])
  const own = await openHouse(t, { env: { STATUS_PAGE: '0' } })
  for (const path of ['/status', '/status.json', '/status.rss?lang=en'])
    assert.equal((await get(path, {}, own)).status, 404, path)
})
