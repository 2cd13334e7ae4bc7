// @backend both
/** What upstreams say about their responses: who sees it, and what happens if it is another model than the route's. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { requestEndpoints } from '../../../src/http/console/usage/requests.ts'
import { setUpOperator, signUpCustomer } from '../../support/console/console-session.ts'
import { chatRequest, type Account } from '../../support/server/account.ts'
import { waitForRecord } from '../../support/client/responses.ts'
import { sharedTestServer, type RegisteredUpstream } from '../../support/server/test-server.ts'
import { messagesRequest, postMessages } from '../../support/upstream/anthropic-messages.ts'
import { replay } from '../../support/upstream/provider-recordings.ts'
import { respondWith, respondWithJson } from '../../support/upstream/scripted-responses.ts'
import type { Script } from '../../support/upstream/exchange.ts'
import { waitUntil } from '../../support/wait.ts'

interface Served {
  readonly model_served: string | null
  readonly provider_response_id: string | null
  readonly fingerprint: string | null
}
interface Notification {
  readonly kind: string
  readonly subject: string
  readonly params: Readonly<Record<string, string>>
  readonly text: string
}

const server = await sharedTestServer()
const alice = await server.account({ balance: '1' })
let models = 0

/** Adds a model that the upstream calls `upstreamModel`. */
async function addModel(upstream: RegisteredUpstream, upstreamModel: string, route = {}): Promise<string> {
  const id = `served-${++models}`
  const routes = [{ upstream: upstream.name, model: upstreamModel, ...route }]
  await server.model(id, { upstreams: [upstream], routes })
  return id
}

async function servedOf(account: Account, response: Response): Promise<Served> {
  assert.equal(response.status, 200)
  await response.text()
  const { request_id: id } = await waitForRecord(account, response)
  const { data } = await server.admin<{ data: Served[] }>('GET', `/requests?request_id=${id}`)
  const [record] = data
  assert.ok(record)
  const { model_served, provider_response_id, fingerprint } = record
  return { model_served, provider_response_id, fingerprint }
}

async function notificationsFor(model: string, about = 'model_mismatch'): Promise<Notification[]> {
  const { data } = await server.admin<{ data: Notification[] }>('GET', '/notices?audience=operator&limit=200')
  return data.filter(({ kind, params }) => kind === about && params['model'] === model)
}

async function mismatchesOf(model: string): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text()
  const line = text
    .split('\n')
    .find((each) => each.startsWith(`sluice_model_mismatches_total{model="${model}"`))
  return Number(line?.split(' ').at(-1) ?? 0)
}

function withHeader(script: Script, name: string, value: string): Script {
  return (exchange) =>
    script({ ...exchange, head: (status, fields) => exchange.head(status, { ...fields, [name]: value }) })
}

const formats = [
  { provider: 'openai', model_served: 'upstream-model', provider_response_id: 'chatcmpl-1' },
  { provider: 'azure', model_served: 'upstream-model', provider_response_id: 'chatcmpl-1' },
  { provider: 'anthropic', model_served: 'upstream-model', provider_response_id: 'msg_1' },
  { provider: 'gemini', model_served: 'upstream-model', provider_response_id: 'answer-1' },
  { provider: 'cohere', model_served: null, provider_response_id: 'answer-1' },
  { provider: 'bedrock', model_served: null, provider_response_id: 'request-of-aws' },
]

describe('Served models', () => {
  for (const { provider, ...expected } of formats)
    test(`${provider} – says model and id, streaming or not, in both formats of callers`, async () => {
      const folder = provider === 'azure' ? 'openai' : provider
      const script = withHeader(replay(folder, 'text'), 'x-amzn-requestid', 'request-of-aws')
      const model = await addModel(await server.upstream(script, { provider }), 'family-model')
      for (const stream of [false, true]) {
        const served = { ...expected, fingerprint: null }
        assert.deepEqual(await servedOf(alice, await alice.post(chatRequest(model, { stream }))), served)
        const message = await postMessages(alice, messagesRequest(model, { stream }))
        assert.deepEqual(await servedOf(alice, message), served)
      }
      const saysModel = expected.model_served !== null && provider !== 'azure'
      assert.equal(await mismatchesOf(model), saysModel ? 4 : 0)
    })

  test('Values of an upstream – are bounded and valid text, and never its credential', async () => {
    const body = {
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
    }
    const credential = 'an-unusual-credential-0123456789'
    const upstream = await server.upstream(
      respondWithJson(200, { ...body, id: 'i'.repeat(999), model: 'm\u0000', system_fingerprint: 'fp_1' }),
      { credential },
    )
    const model = await addModel(upstream, 'm')
    assert.deepEqual(await servedOf(alice, await alice.post(chatRequest(model))), {
      model_served: 'm\uFFFD',
      provider_response_id: 'i'.repeat(256),
      fingerprint: 'fp_1',
    })
    upstream.next(respondWithJson(200, { ...body, id: `id-${credential}`, model: 'm' }))
    const nothing = { model_served: null, provider_response_id: null, fingerprint: null }
    assert.deepEqual(await servedOf(alice, await alice.post(chatRequest(model))), nothing)
    upstream.next(respondWithJson(200, body))
    assert.deepEqual(await servedOf(alice, await alice.post(chatRequest(model))), nothing)
  })

  test('Another model – is counted, logged, and notified once per route and day', async () => {
    const upstream = await server.upstream(respondWith('Hi', undefined, { model: 'anthropic/claude-opus-4' }))
    const model = await addModel(upstream, 'cheap-model')
    for (const stream of [false, true, false]) {
      const response = await alice.post(chatRequest(model, { stream }))
      assert.equal((await servedOf(alice, response)).model_served, 'anthropic/claude-opus-4')
    }
    const [notification] = await waitUntil(async () => {
      const found = await notificationsFor(model)
      return found.length > 0 ? found : undefined
    }, 'the notification')
    const served = 'anthropic/claude-opus-4'
    assert.deepEqual(notification?.params, { model, upstream: upstream.name, asked: 'cheap-model', served })
    assert.match(notification.text, /“cheap-model”.*“anthropic\/claude-opus-4”/)
    assert.equal(await mismatchesOf(model), 3)
    assert.equal((await notificationsFor(model)).length, 1)
    const lines = await waitUntil(async () => {
      const found = server.log.filter((line) => line.includes(`"model":"${model}"`))
      return found.length === 3 ? found : undefined
    }, 'the log lines')
    const fields = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    assert.deepEqual(
      fields.map((line) => [line['model_served'], typeof line['provider_response_id']]),
      Array.from({ length: 3 }, () => [served, 'string']),
    )

    const dated = await addModel(upstream, 'gpt-4o')
    upstream.next(respondWith('Hi', undefined, { model: 'gpt-4o-2024-08-06' }))
    const response = await alice.post(chatRequest(dated))
    assert.equal((await servedOf(alice, response)).model_served, 'gpt-4o-2024-08-06')
    assert.equal(await mismatchesOf(dated), 0)
  })

  test('An unknown finish reason is delivered, charged, notified once, and nobody’s failure', async () => {
    const usage = { input: 10, output: 5 }
    const upstream = await server.upstream(respondWith('Hi', usage, { finish: 'tired' }), {
      provider: 'openai',
    })
    const model = await addModel(upstream, 'upstream-model')
    for (const stream of [false, true, false, true]) {
      const response = await alice.post(chatRequest(model, { stream }))
      assert.equal(response.status, 200)
      assert.match(await response.text(), /"finish_reason":"tired"/)
      const record = await waitForRecord(alice, response)
      const { outcome, finish, completion_tokens: output, usage_source: source, attempts } = record
      assert.deepEqual([outcome, finish, output, source], ['truncated', 'tired', 5, 'provider'])
      assert.deepEqual(
        attempts.map((attempt) => attempt.outcome),
        ['ok'],
      )
    }
    const found = await waitUntil(async () => {
      const notifications = await notificationsFor(model, 'unknown_finish')
      return notifications.length > 0 ? notifications : undefined
    }, 'the notification')
    assert.deepEqual(
      found.map(({ params }) => params),
      [{ model, upstream: upstream.name, reason: 'tired' }],
    )
    const health = await server.admin<{ data: { upstream: string; state: string }[] }>(
      'GET',
      '/upstreams/health',
    )
    assert.ok(health.data.every(({ state }) => state === 'closed'))
  })

  test('A response in another form than asked for is converted, and its row says so', async () => {
    const stream = respondWith('Hi')
    const withFlag =
      (isStream: boolean): Script =>
      (exchange) => {
        const { request } = exchange
        const json = { ...request.json, stream: isStream, stream_options: { include_usage: true } }
        return stream({ ...exchange, request: { ...request, json } })
      }
    const upstream = await server.upstream(stream)
    const model = await addModel(upstream, 'upstream-model')
    for (const [asked, script, form] of [
      [false, withFlag(true), 'stream'],
      [true, withFlag(false), 'json'],
      [true, withHeader(withFlag(true), 'content-type', 'application/json'), undefined],
    ] as const) {
      upstream.next(script)
      const response = await alice.post(chatRequest(model, { stream: asked }))
      assert.equal(response.status, 200)
      const text = await response.text()
      assert.equal(text.endsWith('data: [DONE]\n\n'), asked)
      const { request_id: id, outcome } = await waitForRecord(alice, response)
      const { data } = await server.admin<{ data: { attempts: object[] }[] }>(
        'GET',
        `/requests?request_id=${id}`,
      )
      const [attempt] = data[0]?.attempts ?? []
      assert.deepEqual([outcome, attempt && Reflect.get(attempt, 'responded_with')], ['ok', form])
    }
    for (const body of [{ choices: [] }, { choices: [{ message: null, finish_reason: 'stop' }] }]) {
      upstream.next(respondWithJson(200, { ...body, usage: { prompt_tokens: 10, completion_tokens: 5 } }))
      assert.equal((await alice.post(chatRequest(model))).status, 503)
    }
    upstream.next((exchange) => {
      exchange.head(200, { 'content-type': 'application/json' })
      const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }]
      return exchange.write(`\ufeff${JSON.stringify({ choices })}`).then(() => exchange.end())
    })
    const marked = await alice.post(chatRequest(model))
    assert.deepEqual([marked.status, (await marked.text()).startsWith('{')], [200, true])
  })

  test('Customer – sees the id, and the model only if the response named it', async () => {
    const operator = await setUpOperator(server)
    const session = await signUpCustomer(server, 'served@example.com')
    const account = (await session.session()).account?.id ?? ''
    const credit = { amount: '1', reason: 'test', idempotency_key: 'served' }
    await operator.admin('POST', `/accounts/${account}/credits`, credit)
    const { secret } = await server.admin<{ secret: string }>('POST', `/accounts/${account}/keys`, {
      name: 'k',
    })
    const authorization = `Bearer ${secret}`
    const upstream = await server.upstream(respondWith('Hi', undefined, { model: 'real-2026-01-01' }))
    const hidden = await addModel(upstream, 'real')
    const exposed = await addModel(upstream, 'real', { expose_model: true })
    const send = async (model: string): Promise<string> => {
      const headers = { authorization, 'content-type': 'application/json' }
      const body = JSON.stringify(chatRequest(model))
      const response = await fetch(`${server.url}/v1/chat/completions`, { method: 'POST', headers, body })
      await response.text()
      return response.headers.get('x-request-id') ?? ''
    }
    const ids = [await send(hidden), await send(exposed)]
    // A later change of the routes reveals nothing.
    const route = { upstream: upstream.name, model: 'real' }
    await server.admin('PATCH', `/models/${hidden}`, { routes: [{ ...route, expose_model: true }] })
    await server.admin('PATCH', `/models/${exposed}`, { routes: [route] })
    for (const [index, id] of ids.entries()) {
      const served = index === 0 ? null : 'real-2026-01-01'
      const row = await waitUntil(async () => {
        const response = await fetch(`${server.url}/v1/requests/${id}`, { headers: { authorization } })
        return response.status === 200 ? ((await response.json()) as Served) : undefined
      }, 'the record')
      const detail = await session.call(requestEndpoints.request, { id })
      const list = await session.call(requestEndpoints.requests, { query: { request_id: id } })
      for (const shown of [row, detail, list.data[0]]) {
        assert.equal(shown?.model_served, served)
        assert.match(shown.provider_response_id ?? '', /^chatcmpl/)
        if (index === 0) assert.doesNotMatch(JSON.stringify(shown), /real-/)
      }
      const csv = (await session.send(requestEndpoints.requests, { query: { request_id: id } })).body
      if (index === 0) assert.doesNotMatch(JSON.stringify(csv), /real-/)
      assert.equal((await server.admin<Served>('GET', `/requests/${id}`)).model_served, 'real-2026-01-01')
    }
  })
})
