// @backend both (cluster in long runs)
/** The public price list: which models and prices it shows, and how it is served. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

interface PriceList {
  readonly object: string
  readonly data: readonly { id: string; operations: string[]; pricing: Record<string, unknown> }[]
}

const env = { PUBLIC_PRICES: '1', PUBLIC_URL: 'https://api.acme.example' }
const server = await sharedTestServer({ env })
const upstream = await server.upstream(respondWith('Hello!'), { name: 'secret-upstream-name' })
const add = (id: string, fields: object = {}): Promise<void> =>
  server.model(id, { upstreams: [upstream], prices: ['0.002', '0.008'], ...fields })

const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${server.url}${path}`, { headers })
const text = async (path: string): Promise<string> => (await get(path)).text()
const list = async (): Promise<PriceList> => (await (await get('/pricing.json')).json()) as PriceList
const row = (html: string, id: string): string =>
  new RegExp(`<tr role="row"><th[^>]*>${id}</th>.*?</tr>`, 's').exec(html)?.[0] ?? ''

describe('Price list', () => {
  test('models – are listed ones only, with prices per 1M tokens and by unit, by operation', async () => {
    await add('plain', { context_tokens: 128_000 })
    await add('hidden-model', { listed: false })
    await add('free-model', { prices: { free: true } })
    await add('vectors', { prices: { input: '0.0005' }, operations: ['embeddings'] })
    const prices = {
      input: '0.01',
      output: '0.03',
      cached_input: '0.001',
      reasoning: '0.04',
      input_audio: '0.05',
      per_request: '0.002',
      per_search: '0.01',
      above: [
        {
          input_tokens: 200_000,
          input: '0.02',
          output: '0.06',
          cached_input: '0.002',
          reasoning: '0.08',
          input_audio: '0.1',
        },
      ],
      service_tiers: { flex: '0.5' },
      per_tool_call: { code_interpreter: '0.2' },
    }
    await add('rich', { prices })
    const html = await text('/pricing')
    assert.doesNotMatch(html, /hidden-model|secret-upstream-name/)
    assert.match(row(html, 'plain'), /128,000 tokens<.*>2\.00<.*>8\.00<.*data-label="Cached input">2\.00</)
    assert.match(row(html, 'free-model'), /data-label="Output">Free</)
    const rich = row(html, 'rich')
    for (const cell of [
      'data-label="Cached input">1.00<',
      '<span>Reasoning</span> <span>40.00<',
      '<span>Audio input</span> <span>50.00<',
      '<span>Per request</span> <span>0.002 CNY<',
      '<span>Per call of code_interpreter</span> <span>0.20 CNY<',
      '<li class="group">Input over 200,000 tokens</li><li><span>Input</span> <span>20.00<',
      '<span>Service tier flex</span> <span>× 0.5<',
    ])
      assert.ok(rich.includes(cell), `${cell} is not in ${rich}`)
    const [, embeddings = ''] = html.split('<h2 id="embeddings">')
    assert.match(row(embeddings, 'vectors'), />0\.50</)
    assert.doesNotMatch(embeddings, /Output<\/th>|plain/)

    const { object, data } = await list()
    assert.equal(object, 'list')
    assert.deepEqual(
      data.map(({ id }) => id),
      ['free-model', 'plain', 'rich', 'vectors'],
    )
    const account = await server.account()
    const headers = { authorization: `Bearer ${account.key.secret}` }
    const models = (await (await get('/v1/models', headers)).json()) as PriceList
    for (const [at, model] of models.data.entries()) assert.partialDeepStrictEqual(data[at], model)
    assert.partialDeepStrictEqual(data[2]?.pricing, { currency: 'CNY', unit: '1K tokens', ...prices })
    assert.equal(data[0]?.pricing['free'], true)
  })

  test('prices – are those of factor 1, show a change at once and a later one when it applies', async () => {
    await server.admin('PATCH', '/tiers/standard', { price_factor: '3' })
    const from = new Date(Date.now() + 2000).toISOString()
    await server.admin('PATCH', '/models/plain', { prices: { input: '0.003', output: '0.009' } })
    assert.match(row(await text('/pricing'), 'plain'), />3\.00<.*>9\.00</)
    const later = { input: '0.005', output: '0.01', effective_from: from }
    await server.admin('PATCH', '/models/plain', { prices: later })
    const input = async (): Promise<unknown> =>
      (await list()).data.find(({ id }) => id === 'plain')?.pricing['input']
    assert.equal(await input(), '0.003')
    await waitUntil(async () => (await input()) === '0.005', 'the later price')
    assert.ok(Date.now() >= Date.parse(from))
  })

  test('page – has a title, a description, canonical and alternate links, and valid JSON-LD', async () => {
    const evil = 'x</script><script>alert(1)</script>'
    await server.admin('PUT', '/branding', { name: evil })
    const html = await text('/pricing')
    assert.match(html, /<html lang="en">.*<title>Models and prices – x&lt;\/script&gt;.*<\/title>/s)
    assert.match(
      html,
      /<meta name="description" content="Prices of \d AI models over one API, in CNY per 1 million tokens\.">/,
    )
    assert.match(html, /<link rel="canonical" href="https:\/\/api\.acme\.example\/pricing">/)
    assert.match(html, /hreflang="zh-CN" href="https:\/\/api\.acme\.example\/pricing\?lang=zh-CN"/)
    const blocks = Array.from(html.matchAll(/<script([^>]*)>(.*?)<\/script>/gs))
    assert.deepEqual(
      blocks.map(([, attributes]) => attributes),
      [' type="application/ld+json"'],
      'the only script is data',
    )
    const data = JSON.parse(blocks[0]?.[2] ?? '') as {
      itemListElement: { seller: { name: string }; priceSpecification: { price: string }[] }[]
    }
    assert.equal(data.itemListElement[1]?.seller.name, evil)
    assert.deepEqual(
      data.itemListElement[1].priceSpecification.map(({ price }) => price),
      ['5', '10', '5'],
    )
    const chinese = await text('/pricing?lang=zh')
    assert.match(chinese, /<html lang="zh-CN">.*<title>模型与价格 – x/s)
    assert.match(chinese, /<link rel="canonical" href="https:\/\/api\.acme\.example\/pricing\?lang=zh-CN">/)
    assert.match(await (await get('/pricing', { 'accept-language': 'zh-TW' })).text(), /缓存命中输入/)
    await server.admin('PUT', '/branding', { name: null })
  })

  test('responses – are cached, compressed, conditional, and allow no code', async () => {
    for (const path of ['/pricing', '/pricing.json']) {
      const response = await get(path, { 'accept-encoding': 'gzip' })
      assert.match(response.headers.get('cache-control') ?? '', /^public, max-age=5$/)
      assert.match(response.headers.get('vary') ?? '', /accept-language, accept-encoding/)
      assert.equal(response.headers.get('content-encoding'), 'gzip')
      assert.equal(response.headers.get('x-content-type-options'), 'nosniff')
      const etag = response.headers.get('etag') ?? ''
      const again = await get(path, { 'accept-encoding': 'gzip', 'if-none-match': etag })
      assert.deepEqual([again.status, await again.text(), again.headers.get('etag')], [304, '', etag])
      const plain = await get(path, { 'accept-encoding': 'identity', 'if-none-match': etag })
      assert.equal(plain.status, 200, 'another encoding is another representation')
      const head = await fetch(`${server.url}${path}`, { method: 'HEAD' })
      assert.deepEqual([head.status, await head.text()], [200, ''])
      const posted = await fetch(`${server.url}${path}`, { method: 'POST', body: '{}' })
      assert.deepEqual([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD'])
    }
    const page = await get('/pricing')
    const style = /<style>(.*?)<\/style>/s.exec(await page.text())?.[1] ?? ''
    const hash = createHash('sha256').update(style).digest('base64')
    const policy = page.headers.get('content-security-policy') ?? ''
    assert.ok(policy.startsWith(`default-src 'none'; style-src 'sha256-${hash}' 'self';`), policy)
    assert.equal((await get('/pricing.json')).headers.get('access-control-allow-origin'), '*')
  })

  test('PUBLIC_PRICES – is off unless it is set', async () => {
    await server.restart({ PUBLIC_PRICES: '0' })
    for (const path of ['/pricing', '/pricing.json', '/pricing?lang=en'])
      assert.equal((await get(path)).status, 404, path)
    await server.restart()
    assert.equal((await get('/pricing')).status, 200)
  })
})
