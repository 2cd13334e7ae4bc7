// @backend both
/** Billing of the Messages API: the same rules as for chat completions. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { parseAmount } from '../../../src/lib/money.ts'
import { chatRequest } from '../../support/server/account.ts'
import { readEvents } from '../../support/client/event-streams.ts'
import { waitForRecord } from '../../support/client/responses.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import {
  messagesRequest,
  assembleMessage,
  postMessages,
  readMessagesError,
  respondWithEndlessMessage,
  respondWithMessage,
  parseMessagesEvents,
} from '../../support/upstream/anthropic-messages.ts'
import { truncateAfter } from '../../support/upstream/fault-injection.ts'
import {
  respondEndlessly,
  respondWithEvents,
  respondWith,
} from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer({ env: { BODY_LIMIT: '64KiB' } })
const prices: [string, string] = ['0.002', '0.008']
const claude = await server.upstream(respondWithMessage(['Hello!']), { provider: 'anthropic' })
const openai = await server.upstream(respondWith('Hello!', { input: 12, output: 6 }))
await server.model('claude', { upstreams: [claude.strict('anthropic')], prices })
await server.model('openai', { upstreams: [openai.strict('openai')], prices })

describe('Messages API billing', () => {
  for (const [name, script, provider] of [
    ['with the Messages API', respondWithEndlessMessage, 'anthropic'],
    ['without the Messages API', respondEndlessly(' more and more', 0), 'openai-compatible'],
  ] as const) {
    test(`Stream that exhausts the balance – ends cleanly with the reason, from an upstream ${name}`, async () => {
      const account = await server.account({ balance: '¥0.01' })
      const forever = await server.upstream(script, { provider })
      await server.model(`forever-${provider}`, { upstreams: [forever], prices })
      const response = await postMessages(
        account,
        messagesRequest(`forever-${provider}`, { stream: true, max_tokens: 100_000 }),
      )
      const events = parseMessagesEvents(await response.text())
      const message = assembleMessage(events)
      assert.equal(message['stop_reason'], 'max_tokens')
      const [end] = events.slice(-2)
      assert.deepEqual(end?.sluice, { ended: 'insufficient_quota' })
      await forever.nextDisconnect()
      const record = await waitForRecord(account, response)
      assert.deepEqual([record.outcome, record.usage_source], ['ended', 'estimate'])
      assert.equal(record.completion_tokens, Math.ceil(String(message.content[0]?.['text']).length / 4))
      assert.equal(end.usage?.['output_tokens'], record.completion_tokens)
      const remaining = parseAmount(await account.balance())
      assert.ok(remaining >= 0n && remaining < 20n * 8000n, String(remaining))
    })
  }

  test('A first chunk above the balance is delivered as far as it is paid', async () => {
    const account = await server.account({ balance: '¥0.001' })
    const delta = { role: 'assistant', content: 'x'.repeat(4000) }
    const chunk = JSON.stringify({ id: 'one', choices: [{ index: 0, delta, finish_reason: null }] })
    openai.next(truncateAfter(1, 'hang', respondWithEvents([chunk, chunk])))
    const events = parseMessagesEvents(
      await (
        await postMessages(account, messagesRequest('openai', { stream: true, max_tokens: 4000 }))
      ).text(),
    )
    const message = assembleMessage(events)
    const [{ text = '' } = {}, ...others] = message.content as { text?: string }[]
    assert.ok(text.length > 64 && text.length < 1000, String(text.length))
    assert.deepEqual([others, message['stop_reason']], [[], 'max_tokens'])
    const [record] = await account.requests()
    assert.equal(record?.completion_tokens, Math.ceil(text.length / 4))
  })

  for (const model of ['claude', 'openai']) {
    test(`Stream (${model}) – is settled before message_stop is sent`, async () => {
      const account = await server.account({ balance: '¥1' })
      const response = await postMessages(account, messagesRequest(model, { stream: true }))
      let last = ''
      for await (const event of readEvents(response)) {
        last = event
        if (!event.startsWith('event: message_stop')) continue
        assert.equal(await account.held(), '0')
        assert.ok(Number(await account.balance()) < 1)
      }
      assert.match(last, /^event: message_stop\n/)
    })

    test(`Truncated stream (${model}) – ends with an error event and no message_stop`, async () => {
      const account = await server.account({ balance: '¥1' })
      const upstream = model === 'claude' ? claude : openai
      const script =
        model === 'claude' ? respondWithMessage(['One', ' two', ' three']) : respondWith('One two three')
      upstream.next(truncateAfter(5, 'reset', script))
      const response = await postMessages(account, messagesRequest(model, { stream: true }))
      const events = parseMessagesEvents(await response.text())
      assert.equal(events.at(-1)?.type, 'error')
      assert.equal(events.at(-1)?.error?.type, 'overloaded_error')
      assert.ok(!events.some(({ type }) => type === 'message_stop'))
      assert.equal((await waitForRecord(account, response)).outcome, 'truncated')
    })

    test(`Low balance (${model}) – lowers max_tokens and changes nothing else`, async () => {
      const account = await server.account({ balance: '¥0.4' })
      const upstream = model === 'claude' ? claude : openai
      const body = messagesRequest(model, { max_tokens: 4000, temperature: 0.25 })
      assert.equal((await postMessages(account, body)).status, 200)
      assert.equal(upstream.requests.at(-1)?.json['max_tokens'], 4000)
      const poor = await server.account({ balance: '¥0.02' })
      assert.equal((await postMessages(poor, body)).status, 200)
      const { max_tokens: lowered, ...rest } = upstream.requests.at(-1)?.json ?? {}
      assert.ok(Number(lowered) >= 2400 && Number(lowered) < 2500, String(lowered))
      const { max_tokens: _original, ...expected } = body as Record<string, unknown>
      assert.deepEqual(rest, expected)
    })
  }

  const second = JSON.stringify({
    type: 'message_start',
    message: { id: 'msg_1', role: 'assistant', content: [] },
  })
  const delta = '{"type":"content_block_delta","index":0,"delta":{"type":"text_de'
  for (const [subject, payload] of Object.entries({
    'Second message_start': second,
    'Event cut in half by a message_start': `${delta}\ndata: ${second}`,
  })) {
    for (const format of ['messages', 'chat']) {
      test(`${subject} (${format}) – ends the stream as truncated, charged by estimate`, async () => {
        const account = await server.account({ balance: '¥1' })
        const message = { id: 'msg_1', role: 'assistant', content: [], usage: { input_tokens: 9 } }
        const text = { type: 'text_delta', text: 'One two three' }
        const started = [
          { type: 'message_start', message },
          { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
          { type: 'content_block_delta', index: 0, delta: text },
        ].map((event) => JSON.stringify(event))
        const rest = [
          { type: 'content_block_delta', index: 0, delta: text },
          { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 99 } },
          { type: 'message_stop' },
        ].map((event) => JSON.stringify(event))
        claude.next(respondWithEvents([...started, payload, ...rest]))
        const isChat = format === 'chat'
        const response = isChat
          ? await account.post(chatRequest('claude', { stream: true }))
          : await postMessages(account, messagesRequest('claude', { stream: true }))
        const body = (await Array.fromAsync(readEvents(response))).join('\n\n')
        assert.match(body, isChat ? /"error":/ : /^event: error$/m)
        assert.doesNotMatch(body, /message_stop|\[DONE\]|finish_reason":"|stop_reason":"/)
        const record = await waitForRecord(account, response)
        assert.deepEqual(
          [record.outcome, record.usage_source, record.completion_tokens],
          ['truncated', 'estimate', 4],
        )
      })
    }
  }

  test('One-hour cache writes – have their own price, or cost the same as shorter ones', async () => {
    const usage = {
      input_tokens: 10,
      cache_creation_input_tokens: 7,
      cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 4 },
      output_tokens: 6,
    }
    const caching = await server.upstream(respondWithMessage(['Hi'], { usage }), { provider: 'anthropic' })
    const cachePrices = { input: '0.002', output: '0.008', cache_write: '0.0025' }
    await server.model('own-price', {
      upstreams: [caching],
      prices: { ...cachePrices, cache_write_1h: '0.004' },
    })
    await server.model('same-price', { upstreams: [caching], prices: cachePrices })
    const account = await server.account({ balance: '¥1' })
    for (const [model, cost] of [
      ['own-price', '0.0000915'],
      ['same-price', '0.0000855'],
    ] as const) {
      assert.equal((await postMessages(account, messagesRequest(model))).headers.get('x-sluice-cost'), cost)
      assert.equal((await account.post(chatRequest(model))).headers.get('x-sluice-cost'), cost)
    }
  })

  test('Web searches of Anthropic – cost their fee each, streaming or not, in either format', async () => {
    const searches = { server_tool_use: { web_search_requests: 3, web_fetch_requests: 1 } }
    const cached = { cache_creation_input_tokens: 0, cache_read_input_tokens: 8 }
    const usage = { input_tokens: 12, ...cached, output_tokens: 6, ...searches }
    const message = respondWithMessage(['Hi'], { usage })
    const searching = await server.upstream(
      (exchange) =>
        message({
          ...exchange,
          event(payload, name) {
            const withUsage = payload.replace(
              '"usage":{"output_tokens":6}',
              `"usage":${JSON.stringify(usage)}`,
            )
            return exchange.event(withUsage, name)
          },
        }),
      { provider: 'anthropic' },
    )
    const tokens = { input: '0.002', output: '0.008' }
    await server.model('searching', { upstreams: [searching], prices: { ...tokens, per_search: '0.07' } })
    await server.model('free-search', { upstreams: [searching], prices: tokens })
    const account = await server.account({ balance: '¥10' })
    const tool = { type: 'web_search_20250305', name: 'web_search', max_uses: 3 }
    for (const [fields, cost, isClamped] of [
      [{ tools: [tool] }, '0.210088', false],
      [{ tools: [{ ...tool, max_uses: 2 }] }, '0.140088', true],
      [{}, '0.000088', true],
    ] as const) {
      for (const stream of [false, true]) {
        const response = await postMessages(account, messagesRequest('searching', { stream, ...fields }))
        assert.equal(response.status, 200)
        assert.match(await response.text(), /"server_tool_use":\{"web_search_requests":3/)
        const record = await waitForRecord(account, response)
        assert.deepEqual([record.cost, record.searches, record.usage_clamped], [cost, 3, isClamped])
      }
    }
    // In the OpenAI format there is no way to ask Anthropic for searches.
    for (const model of ['searching', 'free-search']) {
      for (const stream of [false, true]) {
        const fields = { stream, stream_options: stream ? { include_usage: true } : null }
        const response = await account.post(chatRequest(model, fields))
        assert.match(await response.text(), /"server_tool_use":\{"web_search_requests":3/)
        const record = await waitForRecord(account, response)
        assert.deepEqual([record.cost, record.usage_clamped], ['0.000088', true])
      }
    }
  })

  test('Idempotency-Key – replays the same message or stream and charges once', async () => {
    for (const model of ['claude', 'openai']) {
      for (const stream of [false, true]) {
        const account = await server.account({ balance: '¥1' })
        const headers = { 'idempotency-key': `${model}-${stream}` }
        const first = await (
          await postMessages(account, messagesRequest(model, { stream }), { headers })
        ).text()
        const charged = await account.balance()
        assert.ok(Number(charged) < 1)
        assert.equal(
          await (await postMessages(account, messagesRequest(model, { stream }), { headers })).text(),
          first,
        )
        assert.equal(await account.balance(), charged)
        const other = await readMessagesError(
          await postMessages(account, messagesRequest(model, { stream, max_tokens: 9 }), { headers }),
        )
        assert.deepEqual([other.type, other.code], ['invalid_request_error', 'idempotency_key_reused'])
      }
    }
  })

  test('Thinking budget – stays below a max_tokens that the balance lowered', async () => {
    const poor = await server.account({ balance: '¥0.02' })
    for (const [budget, thinking] of [
      [1200, { type: 'enabled', budget_tokens: 1200 }],
      [3000, { type: 'enabled', budget_tokens: -1 }],
    ] as const) {
      await postMessages(
        poor,
        messagesRequest('claude', { max_tokens: 4000, thinking: { type: 'enabled', budget_tokens: budget } }),
      )
      const { max_tokens: lowered, thinking: sent } = claude.requests.at(-1)?.json ?? {}
      const expected =
        thinking.budget_tokens === -1 ? { ...thinking, budget_tokens: Number(lowered) - 1 } : thinking
      assert.deepEqual(sent, expected)
    }
    const poorest = await server.account({ balance: '¥0.005' })
    await postMessages(
      poorest,
      messagesRequest('claude', { max_tokens: 4000, thinking: { type: 'enabled', budget_tokens: 2000 } }),
    )
    assert.deepEqual(claude.requests.at(-1)?.json['thinking'], { type: 'disabled' })
  })

  test('Token counting – needs a balance before an upstream is called, unless the model is free', async () => {
    await server.model('free', { upstreams: [claude], prices: ['0', '0'] })
    const penniless = await server.account()
    const count = (model: string): Promise<Response> => {
      const body = { model, messages: [{ role: 'user', content: 'Hi' }] }
      return postMessages(penniless, body, { path: '/v1/messages/count_tokens' })
    }
    const requestsBefore = claude.requests.length
    const rejected = await count('claude')
    assert.deepEqual([rejected.status, (await readMessagesError(rejected)).code], [402, 'insufficient_quota'])
    assert.equal(claude.requests.length, requestsBefore)
    assert.equal((await count('free')).status, 200)
    assert.equal(claude.requests.length, requestsBefore + 1)
  })
})
