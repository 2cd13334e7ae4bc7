/** Money, limits and refusals of callers of Anthropic's format: the same as for any other, in its own words. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { nanosOf } from '../src/lib/money.ts'
import { question } from './support/server/account.ts'
import { eventsOf, recordOf } from './support/client/responses.ts'
import type { Script } from './support/upstream/exchange.ts'
import { shareHouse } from './support/server/test-server.ts'
import {
  ask,
  messageIn,
  send,
  sayingMessage,
  toldIn,
  type Told,
} from './support/upstream/anthropic-messages.ts'
import { truncating } from './support/upstream/fault-injection.ts'
import { endless, events, failing, saying } from './support/upstream/scripted-responses.ts'

const house = await shareHouse({ env: { BODY_LIMIT: '64KiB' } })
const prices: [string, string] = ['0.002', '0.008']
const claude = await house.upstream(sayingMessage(['Hello!']), { provider: 'anthropic' })
const common = await house.upstream(saying('Hello!', { input: 12, output: 6 }))
await house.model('claude', { upstreams: [claude], prices })
await house.model('common', { upstreams: [common], prices })

/** Deltas of Anthropic's without end, until the caller leaves. */
const endlessMessage: Script = async (exchange) => {
  const tell = (type: string, fields: object): Promise<boolean> =>
    exchange.event(JSON.stringify({ type, ...fields }), type)
  exchange.head(200, { 'content-type': 'text/event-stream' })
  const usage = { input_tokens: 10, output_tokens: 1 }
  await tell('message_start', { message: { id: 'msg_1', role: 'assistant', content: [], usage } })
  await tell('content_block_start', { index: 0, content_block: { type: 'text', text: '' } })
  const delta = { type: 'text_delta', text: ' more and more' }
  while (await tell('content_block_delta', { index: 0, delta }));
}

for (const [name, script, provider] of [
  ['that speaks the format', endlessMessage, 'anthropic'],
  ['that does not', endless(' more and more', 0), 'openai-compatible'],
] as const) {
  test(`a stream that outlives the balance ends cleanly and says why, in front of an upstream ${name}`, async () => {
    const account = await house.account({ balance: '¥0.01' })
    const forever = await house.upstream(script, { provider })
    await house.model(`forever-${provider}`, { upstreams: [forever], prices })
    const reply = await send(account, ask(`forever-${provider}`, { stream: true, max_tokens: 100_000 }))
    const told = toldIn(await reply.text())
    const message = messageIn(told)
    assert.equal(message['stop_reason'], 'max_tokens')
    const [end] = told.slice(-2)
    assert.deepEqual(end?.sluice, { ended: 'insufficient_quota' })
    await forever.sawClose()
    const record = await recordOf(account, reply)
    assert.deepEqual([record.outcome, record.usage_source], ['ended', 'estimate'])
    assert.equal(record.completion_tokens, Math.ceil(String(message.content[0]?.['text']).length / 4))
    assert.equal(end.usage?.['output_tokens'], record.completion_tokens)
    const left = nanosOf(await account.balance())
    assert.ok(left >= 0n && left < 20n * 8000n, String(left))
  })
}

test('a first chunk larger than the money ends as a message without content', async () => {
  const account = await house.account({ balance: '¥0.001' })
  const delta = { role: 'assistant', content: 'x'.repeat(4000) }
  const chunk = JSON.stringify({ id: 'one', choices: [{ index: 0, delta, finish_reason: null }] })
  common.next(truncating(1, 'hang', events([chunk, chunk])))
  const told = toldIn(await (await send(account, ask('common', { stream: true, max_tokens: 4000 }))).text())
  const message = messageIn(told)
  assert.deepEqual([message.content, message['stop_reason']], [[], 'max_tokens'])
})

for (const model of ['claude', 'common']) {
  test(`the bill is settled before message_stop goes out (${model})`, async () => {
    const account = await house.account({ balance: '¥1' })
    const reply = await send(account, ask(model, { stream: true }))
    let last = ''
    for await (const event of eventsOf(reply)) {
      last = event
      if (!event.startsWith('event: message_stop')) continue
      assert.equal(await account.held(), '0')
      assert.ok(Number(await account.balance()) < 1)
    }
    assert.match(last, /^event: message_stop\n/)
  })

  test(`a stream that is cut short is no success: an error event, and no message_stop (${model})`, async () => {
    const account = await house.account({ balance: '¥1' })
    const upstream = model === 'claude' ? claude : common
    const whole = model === 'claude' ? sayingMessage(['One', ' two', ' three']) : saying('One two three')
    upstream.next(truncating(5, 'reset', whole))
    const reply = await send(account, ask(model, { stream: true }))
    const told = toldIn(await reply.text())
    assert.equal(told.at(-1)?.type, 'error')
    assert.equal(told.at(-1)?.error?.type, 'overloaded_error')
    assert.ok(!told.some(({ type }) => type === 'message_stop'))
    assert.equal((await recordOf(account, reply)).outcome, 'truncated')
  })

  test(`money lowers the maximum of a whole answer, and nothing else (${model})`, async () => {
    const account = await house.account({ balance: '¥0.4' })
    const upstream = model === 'claude' ? claude : common
    const asked = ask(model, { max_tokens: 4000, temperature: 0.25 })
    assert.equal((await send(account, asked)).status, 200)
    assert.equal(upstream.requests.at(-1)?.json['max_tokens'], 4000)
    const poor = await house.account({ balance: '¥0.02' })
    assert.equal((await send(poor, asked)).status, 200)
    const { max_tokens: lowered, ...rest } = upstream.requests.at(-1)?.json ?? {}
    assert.ok(Number(lowered) >= 2400 && Number(lowered) < 2500, String(lowered))
    const { max_tokens: _given, ...given } = asked as Record<string, unknown>
    assert.deepEqual(rest, given)
  })
}

test('what Anthropic keeps for an hour has a price of its own, or costs as what it keeps for minutes', async () => {
  const usage = {
    input_tokens: 10,
    cache_creation_input_tokens: 7,
    cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 4 },
    output_tokens: 6,
  }
  const writing = await house.upstream(sayingMessage(['Hi'], { usage }), { provider: 'anthropic' })
  const apart = { input: '0.002', output: '0.008', cache_write: '0.0025' }
  await house.model('apart', { upstreams: [writing], prices: { ...apart, cache_write_1h: '0.004' } })
  await house.model('alike', { upstreams: [writing], prices: apart })
  const account = await house.account({ balance: '¥1' })
  for (const [model, cost] of [
    ['apart', '0.0000915'],
    ['alike', '0.0000855'],
  ] as const) {
    assert.equal((await send(account, ask(model))).headers.get('x-sluice-cost'), cost)
    assert.equal((await account.post(question(model))).headers.get('x-sluice-cost'), cost)
  }
})

test('each search of the web that Anthropic says it did costs its fee, whole and streamed, in either format', async () => {
  const searched = { server_tool_use: { web_search_requests: 3, web_fetch_requests: 1 } }
  const uncached = { cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
  const usage = { input_tokens: 10, ...uncached, output_tokens: 6, ...searched }
  const message = sayingMessage(['Hi'], { usage })
  const searching = await house.upstream(
    (exchange) =>
      message({
        ...exchange,
        event(payload, name) {
          const told = payload.replace('"usage":{"output_tokens":6}', `"usage":${JSON.stringify(usage)}`)
          return exchange.event(told, name)
        },
      }),
    { provider: 'anthropic' },
  )
  const tokens = { input: '0.002', output: '0.008' }
  await house.model('searching', { upstreams: [searching], prices: { ...tokens, per_search: '0.07' } })
  await house.model('free-search', { upstreams: [searching], prices: tokens })
  const account = await house.account({ balance: '¥10' })
  for (const [model, cost] of [
    ['searching', '0.210068'],
    ['free-search', '0.000068'],
  ] as const) {
    for (const stream of [false, true]) {
      for (const reply of [
        await send(account, ask(model, { stream })),
        await account.post(
          question(model, { stream, stream_options: stream ? { include_usage: true } : null }),
        ),
      ]) {
        assert.equal(reply.status, 200)
        assert.match(await reply.text(), /"server_tool_use":\{"web_search_requests":3/)
        const record = await recordOf(account, reply)
        assert.deepEqual([record.cost, record.searches], [cost, 3])
      }
    }
  }
})

test('a request under an Idempotency-Key is answered the same again, whole and streamed, and charged once', async () => {
  for (const model of ['claude', 'common']) {
    for (const stream of [false, true]) {
      const account = await house.account({ balance: '¥1' })
      const headers = { 'idempotency-key': `${model}-${stream}` }
      const first = await (await send(account, ask(model, { stream }), { headers })).text()
      const charged = await account.balance()
      assert.ok(Number(charged) < 1)
      assert.equal(await (await send(account, ask(model, { stream }), { headers })).text(), first)
      assert.equal(await account.balance(), charged)
      const other = await refusalOf(await send(account, ask(model, { stream, max_tokens: 9 }), { headers }))
      assert.deepEqual([other.type, other.code], ['invalid_request_error', 'idempotency_key_reused'])
    }
  }
})

test('a budget of thinking stays below a maximum that money has lowered', async () => {
  const poor = await house.account({ balance: '¥0.02' })
  for (const [budget, thinking] of [
    [1200, { type: 'enabled', budget_tokens: 1200 }],
    [3000, { type: 'enabled', budget_tokens: -1 }],
  ] as const) {
    await send(
      poor,
      ask('claude', { max_tokens: 4000, thinking: { type: 'enabled', budget_tokens: budget } }),
    )
    const { max_tokens: lowered, thinking: sent } = claude.requests.at(-1)?.json ?? {}
    const expected =
      thinking.budget_tokens === -1 ? { ...thinking, budget_tokens: Number(lowered) - 1 } : thinking
    assert.deepEqual(sent, expected)
  }
  const poorest = await house.account({ balance: '¥0.005' })
  await send(poorest, ask('claude', { max_tokens: 4000, thinking: { type: 'enabled', budget_tokens: 2000 } }))
  assert.deepEqual(claude.requests.at(-1)?.json['thinking'], { type: 'disabled' })
})

async function refusalOf(reply: Response): Promise<NonNullable<Told['error']> & { param?: string }> {
  const body = (await reply.json()) as Told
  assert.deepEqual(Object.keys(body), ['type', 'error', 'request_id'])
  assert.equal(body.type, 'error')
  assert.equal(body.request_id, reply.headers.get('request-id'))
  assert.equal(body.request_id, reply.headers.get('x-request-id'))
  assert.ok(body.error)
  return body.error
}

test('every refusal has the format’s shape and type, the same status, and says whether to come again', async () => {
  const rich = await house.account({ balance: '¥1' })
  const poor = await house.account()
  const capped = await house.account({ balance: '¥1', key: { caps: { daily: '0.0000001' } } })
  const narrow = await house.account({ balance: '¥1', key: { models: ['common'] } })
  const limited = await house.account({ balance: '¥1', key: { limits: { tpm: 10 } } })
  const stranger = await house.account()
  stranger.key = { id: '', secret: 'sk-nobody' }
  const cases: [Promise<Response>, number, string, string][] = [
    [send(stranger, ask('claude')), 401, 'authentication_error', 'invalid_api_key'],
    [send(poor, ask('claude')), 402, 'billing_error', 'insufficient_quota'],
    [send(capped, ask('claude')), 402, 'billing_error', 'spend_cap_exceeded'],
    [send(narrow, ask('claude')), 403, 'permission_error', 'model_not_allowed'],
    [send(rich, ask('nowhere')), 404, 'not_found_error', 'model_not_found'],
    [send(rich, ask('claude'), { path: '/v1/messages/batches' }), 404, 'not_found_error', 'not_found'],
    [
      send(rich, ask('claude', { system: 'x'.repeat(70_000) })),
      413,
      'request_too_large',
      'request_too_large',
    ],
    [send(limited, ask('claude')), 429, 'rate_limit_error', 'rate_limit_exceeded'],
    [send(rich, '{'), 400, 'invalid_request_error', 'invalid_json'],
  ]
  for (const [asking, status, type, code] of cases) {
    const reply = await asking
    const error = await refusalOf(reply)
    assert.deepEqual([reply.status, error.type, error.code], [status, type, code])
    const isFinal = status === 402 || status === 429
    assert.equal(reply.headers.get('x-should-retry'), isFinal ? 'false' : null, code)
  }
})

test('what is wrong with a request is told by the field’s name', async () => {
  const account = await house.account({ balance: '¥1' })
  const hello = ask('claude').messages
  const cases: [object, string][] = [
    [{ max_tokens: 9, messages: hello }, 'model'],
    [{ model: 'claude', messages: hello }, 'max_tokens'],
    [ask('claude', { max_tokens: 0 }), 'max_tokens'],
    [ask('claude', { max_tokens: '256' }), 'max_tokens'],
    [{ model: 'claude', max_tokens: 9 }, 'messages'],
    [ask('claude', { messages: [] }), 'messages'],
    [ask('claude', { messages: ['Hello'] }), 'messages[0]'],
    [ask('claude', { messages: [{ content: 'Hello' }] }), 'messages[0].role'],
    [ask('claude', { stream: 'yes' }), 'stream'],
    [ask('claude', { Max_Tokens: 9 }), 'Max_Tokens'],
    [ask('common', { messages: [{ role: 'robot', content: 'x' }] }), 'messages[0].role'],
    [
      ask('common', { messages: [{ role: 'user', content: [{ type: 'video' }] }] }),
      'messages[0].content[0].type',
    ],
    [ask('common', { system: 7 }), 'system'],
    [ask('common', { tool_choice: { type: 'some' }, tools: [{ name: 'a' }] }), 'tool_choice.type'],
    [ask('common', { mcp_servers: [{ url: 'https://x' }] }), 'mcp_servers'],
  ]
  for (const [body, param] of cases) {
    const reply = await send(account, body)
    const error = await refusalOf(reply)
    assert.deepEqual([reply.status, error.type, error.param], [400, 'invalid_request_error', param])
    assert.match(error.message, new RegExp(`^(A field )?"?${param.replace(/[[\].]/g, '\\$&')}`))
  }
})

test('an upstream’s refusal keeps its status and words; what is ours to mend is 503, a rate is 429', async () => {
  const account = await house.account({ balance: '¥1' })
  const told = (type: string, message: string): object => ({ type: 'error', error: { type, message } })
  const wrong = told('invalid_request_error', 'messages.0: too odd')
  const cases: [Script, number, string][] = [
    [failing(400, wrong), 400, 'invalid_request_error'],
    [failing(413, told('request_too_large', 'Too much.')), 413, 'request_too_large'],
    [failing(401, told('authentication_error', 'invalid x-api-key')), 503, 'overloaded_error'],
    [failing(529, told('overloaded_error', 'Overloaded')), 503, 'overloaded_error'],
    [failing(429, told('rate_limit_error', 'Slow down.'), { 'retry-after': '7' }), 429, 'rate_limit_error'],
  ]
  for (const [script, status, type] of cases) {
    claude.next(script)
    const reply = await send(account, ask('claude'))
    const error = await refusalOf(reply)
    assert.deepEqual([reply.status, error.type], [status, type])
    if (status === 400) assert.equal(error.message, 'messages.0: too odd')
    if (status === 429) assert.equal(reply.headers.get('retry-after'), '7')
  }
  assert.equal(await account.balance(), '1')
})
