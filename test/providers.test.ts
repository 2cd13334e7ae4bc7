/** The real relay in front of upstreams that speak other dialects: what the caller sees, and what it costs to the nano. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import type { TestContext } from 'node:test'

import { awsFrame, assembled, ownRecordings, payloadsIn, wholeIn } from '../src/providers/contract.fixture.ts'
import type { Chunk } from '../src/providers/provider.ts'
import { providerOf } from '../src/providers/registry.ts'
import type { Account } from './support/server/account.ts'
import { payloadsOf, question } from './support/server/account.ts'
import type { Script } from './support/upstream/exchange.ts'
import { openHouse } from './support/server/test-server.ts'
import type { House } from './support/server/test-server.ts'
import { events, failing, json, saying } from './support/upstream/scripted-responses.ts'

const prices = { input: '0.002', output: '0.008', cached_input: '0.0002', cache_write: '0.0025' }

function folderOf(provider: string): string {
  const found = providerOf(provider)
  assert.ok(found)
  return ownRecordings(found)
}

/** Plays a provider's own recording, framed as the provider does, whole or streamed by the address or the body. */
function playing(provider: string, name: string): Script {
  const folder = folderOf(provider)
  return async (exchange) => {
    const { path, json: body } = exchange.request
    if (body['stream'] !== true && !/stream/i.test(path)) return json(200, wholeIn(folder, name))(exchange)
    const payloads = payloadsIn(folder, name)
    if (provider !== 'bedrock') return events(payloads)(exchange)
    exchange.head(200, { 'content-type': 'application/vnd.amazon.eventstream' })
    for (const payload of payloads) {
      for (const [event, value] of Object.entries(JSON.parse(payload) as Record<string, unknown>)) {
        await exchange.write(
          awsFrame({ ':event-type': event, ':message-type': 'event' }, JSON.stringify(value)),
        )
      }
    }
    return exchange.end()
  }
}

async function openWith(
  t: TestContext,
  provider: string,
  script: Script,
  fields: object = {},
): Promise<{ house: House; alice: Account; upstream: Awaited<ReturnType<House['upstream']>> }> {
  const house = await openHouse(t)
  const upstream = await house.upstream(script, { provider, ...fields })
  await house.model('family-model', { prices, upstreams: [upstream] })
  return { house, alice: await house.account({ balance: '1' }), upstream }
}

async function streamed(reply: Response): Promise<Chunk[]> {
  const payloads = await payloadsOf(reply)
  assert.equal(payloads.at(-1), '[DONE]')
  return payloads.slice(0, -1).map((payload) => JSON.parse(payload) as Chunk)
}

/** Of a text of 20 tokens in (8 from the cache, as many written to it) and 4 out, in nanos at the prices above. */
function costOf(cached: number, written: number): string {
  const nanos = (20 - cached - written) * 2000 + cached * 200 + written * 2500 + 4 * 8000
  return (nanos / 1e9).toFixed(9).replace(/0+$/, '')
}

const cases = [
  { provider: 'anthropic', cost: costOf(8, 3), path: '/v1/messages' },
  { provider: 'gemini', cost: costOf(8, 0), path: /^\/v1\/models\/family-model:(streamG|g)enerateContent/ },
  { provider: 'cohere', cost: costOf(0, 0), path: '/v1/chat' },
  { provider: 'bedrock', cost: costOf(8, 3), path: /^\/v1\/model\/family-model\/converse/ },
  { provider: 'azure', cost: costOf(8, 0), path: '/v1/chat/completions' },
]

for (const { provider, cost, path } of cases) {
  test(`${provider}: whole and streamed, the caller sees the common format and pays the provider's count`, async (t) => {
    const { house, alice, upstream } = await openWith(t, provider, playing(provider, 'text'))

    const whole = await alice.post(question('family-model'))
    assert.equal(whole.headers.get('x-sluice-cost'), cost)
    const said = assembled([(await whole.json()) as Chunk])
    assert.deepEqual([said.text, said.finishes[0]?.reason], ['Hello, world.', 'stop'])

    const reply = await alice.post(
      question('family-model', { stream: true, stream_options: { include_usage: true } }),
    )
    const chunks = await streamed(reply)
    const told = assembled(chunks)
    assert.deepEqual([told.text, told.finishes[0]?.reason], ['Hello, world.', 'stop'])
    assert.equal(told.usages.length, 1)
    assert.equal(String(told.usages[0]?.['cost']), String(Number(cost)))
    assert.deepEqual(chunks.at(-1)?.['choices'], [])

    const silent = assembled(await streamed(await alice.post(question('family-model', { stream: true }))))
    assert.deepEqual([silent.text, silent.usages.length], ['Hello, world.', 0])

    for (const record of await alice.requests()) {
      assert.deepEqual([record.cost, record.usage_source, record.outcome], [cost, 'provider', 'ok'])
    }
    assert.equal(await alice.balance(), (1 - 3 * Number(cost)).toFixed(9).replace(/0+$/, ''))
    for (const { path: asked } of upstream.requests) {
      if (typeof path === 'string') assert.equal(asked, path)
      else assert.match(asked, path)
    }
    await house.nothingHeld()
  })
}

test('an anthropic stream that tells an error after its first words is truncated, never complete', async (t) => {
  const payloads = payloadsIn(folderOf('anthropic'), 'text').slice(0, 4)
  const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
  const script = events([...payloads, JSON.stringify(overloaded)])
  const { house, alice } = await openWith(t, 'anthropic', script)
  const last = (await payloadsOf(await alice.post(question('family-model', { stream: true })))).at(-1)
  assert.match(last ?? '', /"error"/)
  const [record] = await alice.requests()
  assert.deepEqual([record?.outcome, record?.usage_source], ['truncated', 'estimate'])
  await house.nothingHeld()
})

test('an anthropic upstream that is overloaded before its first word is replaced unseen', async (t) => {
  const house = await openHouse(t)
  const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
  const first = await house.upstream(events([JSON.stringify(overloaded)]), { provider: 'anthropic' })
  const second = await house.upstream(playing('gemini', 'text'), { provider: 'gemini' })
  await house.model('family-model', { prices, upstreams: [first, second] })
  const alice = await house.account({ balance: '1' })
  const told = assembled(await streamed(await alice.post(question('family-model', { stream: true }))))
  assert.equal(told.text, 'Hello, world.')
  await house.nothingHeld()
})

test('what one dialect cannot say, the next upstream is asked; without one it is a 400 that names it', async (t) => {
  const house = await openHouse(t)
  const anthropic = await house.upstream(playing('anthropic', 'text'), { provider: 'anthropic' })
  const common = await house.upstream(saying('Twice.'))
  await house.model('both', { prices, upstreams: [anthropic, common] })
  await house.model('alone', { prices, upstreams: [anthropic] })
  const alice = await house.account({ balance: '1' })

  assert.equal((await alice.post(question('both', { n: 2 }))).status, 200)
  const refused = await alice.post(question('alone', { n: 2 }))
  assert.equal(refused.status, 400)
  assert.equal(((await refused.json()) as { error: { param: string } }).error.param, 'n')
  assert.equal(anthropic.requests.length, 0)
  await house.nothingHeld()
})

test("google's wait is the caller's Retry-After, and its refusal of our key is never the caller's 400", async (t) => {
  const { house, alice, upstream } = await openWith(
    t,
    'gemini',
    failing(429, {
      error: {
        code: 429,
        message: 'You exceeded your current quota.',
        status: 'RESOURCE_EXHAUSTED',
        details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.4s' }],
      },
    }),
  )
  const busy = await alice.post(question('family-model'))
  assert.deepEqual([busy.status, busy.headers.get('retry-after')], [429, '35'])

  const reason = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }
  const error = { code: 400, message: 'API key not valid.', status: 'INVALID_ARGUMENT', details: [reason] }
  upstream.next(failing(400, { error }), failing(400, [{ error }]))
  assert.equal((await alice.post(question('family-model'))).status, 503)
  assert.equal((await alice.post(question('family-model', { stream: true }))).status, 503)
  await house.nothingHeld()
})

test("an empty account and a wrong key are never the caller's fault, however they are told", async (t) => {
  const house = await openHouse(t)
  const alice = await house.account({ balance: '1' })
  const empty = 'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.'
  const cases: [provider: string, Script][] = [
    ['anthropic', failing(400, { type: 'error', error: { type: 'invalid_request_error', message: empty } })],
    ['openai', failing(429, { error: { message: 'You exceeded your quota.', code: 'insufficient_quota' } })],
    ['qwen', failing(400, { error: { message: 'Access denied.', code: 'Arrearage' } })],
    ['xai', failing(400, { code: 'invalid', error: 'Incorrect API key provided: xx***.' })],
    ['bedrock', failing(403, { message: 'The security token included in the request is invalid.' })],
  ]
  for (const [provider, script] of cases) {
    const upstream = await house.upstream(script, { provider })
    await house.model(provider, { prices, upstreams: [upstream] })
    assert.equal((await alice.post(question(provider))).status, 503, provider)
  }
  await house.nothingHeld()
})

test('nothing of a credential of several parts is ever told, nor of the token it was exchanged for', async (t) => {
  const secret = 'wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY'
  const credential = `AKIAIOSFODNN7EXAMPLE:${secret}`
  const script = failing(400, { message: `Bad request, signed with ${secret} of AKIAIOSFODNN7EXAMPLE.` })
  const { house, alice } = await openWith(t, 'bedrock', script, { credential })
  const reply = await alice.post(question('family-model'))
  const text = await reply.text()
  assert.equal(reply.status, 400)
  for (const part of [secret, 'AKIAIOSFODNN7EXAMPLE']) {
    assert.ok(!text.includes(part) && !house.log.join('\n').includes(part), text)
  }
  const fields = { provider: 'vertex', credential: `{"private_key": ${secret}` }
  const broken = await house.upstreamAt('http://127.0.0.1:9/v1', fields)
  await house.model('broken', { prices, upstreams: [broken] })
  assert.equal((await alice.post(question('broken'))).status, 503)
  assert.ok(!house.log.join('\n').includes(secret))
  await house.nothingHeld()
})

test('vertex signs in once, calls with the token, and signs in again when it is no longer taken', async (t) => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  let signedIn = 0
  const script: Script = (exchange) => {
    if (!exchange.request.path.endsWith('/token')) return playing('gemini', 'text')(exchange)
    signedIn += 1
    return json(200, { access_token: `token-${signedIn}`, expires_in: 3599, token_type: 'Bearer' })(exchange)
  }
  const house = await openHouse(t, { env: { WORKERS: '1' } })
  const upstream = await house.upstream(script)
  const key = {
    type: 'service_account',
    project_id: 'a-project',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    client_email: 'relay@a-project.iam.gserviceaccount.com',
    token_uri: `${upstream.url}/token`,
  }
  const vertex = { provider: 'vertex', credential: JSON.stringify(key) }
  const { name } = await house.upstreamAt(upstream.url, vertex)
  await house.model('family-model', { prices, upstreams: [{ name }] })
  const alice = await house.account({ balance: '1' })
  const tokens = (): unknown[] => upstream.requests.map(({ headers }) => headers.authorization ?? null)

  assert.equal((await alice.post(question('family-model'))).status, 200)
  assert.equal((await alice.post(question('family-model', { stream: true }))).status, 200)
  assert.deepEqual(tokens(), [null, 'Bearer token-1', 'Bearer token-1'])
  assert.equal(
    upstream.requests[1]?.path,
    '/v1/projects/a-project/locations/global/publishers/google/models/family-model:generateContent',
  )
  const [head = '', claims = ''] = (
    new URLSearchParams(upstream.requests[0]?.text).get('assertion') ?? ''
  ).split('.')
  assert.match(Buffer.from(head, 'base64url').toString(), /RS256/)
  assert.match(Buffer.from(claims, 'base64url').toString(), /cloud-platform/)

  upstream.next(failing(401))
  assert.equal((await alice.post(question('family-model'))).status, 503)
  assert.equal((await alice.post(question('family-model'))).status, 200)
  assert.deepEqual(tokens().slice(3), ['Bearer token-1', null, 'Bearer token-2'])

  // Two at once share one signing in; one that is refused is tried again by the next call.
  upstream.next(failing(403), failing(400, { error: 'invalid_grant', error_description: 'No such account.' }))
  assert.equal((await alice.post(question('family-model'))).status, 503)
  assert.equal((await alice.post(question('family-model'))).status, 503)
  const together = await Promise.all([1, 2].map(() => alice.post(question('family-model'))))
  assert.deepEqual(
    together.map(({ status }) => status),
    [200, 200],
  )
  assert.deepEqual(tokens().slice(6), ['Bearer token-2', null, null, 'Bearer token-3', 'Bearer token-3'])
  await house.nothingHeld()
})
