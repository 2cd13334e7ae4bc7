import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import type { PricedModel } from '../catalog/catalog.ts'
import { nanoPrice } from '../ledger/ledger.fixture.ts'
import { parseUsage, type TokenUsage } from '../providers/usage.ts'
import { billFromCut, billFromEstimate, billFromUsage, billWithoutMoney, type ServedRequest } from './bill.ts'
import { messagesRequest } from './request/messages.fixture.ts'
import { readChatRequest } from './request/request-body.ts'

const model = { contextTokens: 128_000, maxOutputTokens: 16_000, price: nanoPrice } as PricedModel

function served(fields: object, provider = 'openai', more: Partial<ServedRequest> = {}): ServedRequest {
  const body = { model: 'm', messages: [{ role: 'user', content: 'Say hello.' }], ...fields }
  const request = readChatRequest(Buffer.from(JSON.stringify(body)))
  const route = { upstream: { provider }, upstreamModel: 'm' }
  return { request, model, servedModel: model, route, loweredMaximum: null, ...more }
}

type Metered = Parameters<typeof billFromUsage>[0]

function meterOf(fields: Partial<Metered>): Metered {
  return { usage: null, tokens: 3, searches: 0, tier: null, toolCalls: [], finishReason: 'stop', ...fields }
}

function charged(claim: object, request: ServedRequest): Partial<TokenUsage> & { isClamped: boolean } {
  const { usage, bound = usage, isClamped } = billFromUsage(meterOf({ usage: parseUsage(claim) }), request)
  const { input, output, reasoning, searches = 0 } = bound
  return { input, output, reasoning, searches, isClamped }
}

/** What is charged of the output of a claim. */
const outputOf = (claim: object, request: ServedRequest): number =>
  charged({ prompt_tokens: 5, ...claim }, request).output ?? 0

describe('billFromUsage', () => {
  test('searches – are counted from the usage of each provider', () => {
    const counts = { prompt_tokens: 1, completion_tokens: 1 }
    for (const [usage, searches] of [
      [{ server_tool_use: { web_search_requests: 3 } }, 3],
      [{ num_search_queries: 2 }, 2],
      [{ num_sources_used: 5 }, 5],
      [{ plugins: { search: { count: 1 } } }, 1],
      [{}, undefined],
    ] as const)
      assert.equal(parseUsage({ ...counts, ...usage })?.searches, searches, JSON.stringify(usage))
  })

  test('An input of zero next to output is estimated', () => {
    const request = served({})
    const claim = { usage: parseUsage({ prompt_tokens: 0, completion_tokens: 5 }), tokens: 3, searches: 0 }
    const { usage, cause } = billFromUsage(
      { ...claim, tier: null, toolCalls: [], finishReason: null },
      request,
    )
    assert.deepEqual([usage.input, usage.output, cause], [request.request.inputTokens(), 5, 'estimate'])
  })

  test('output – is charged up to the asked maximum of all results', () => {
    assert.equal(outputOf({ completion_tokens: 99_999 }, served({ max_tokens: 10 })), 10)
    assert.equal(outputOf({ completion_tokens: 99_999 }, served({ max_completion_tokens: 10, n: 3 })), 30)
    assert.equal(outputOf({ completion_tokens: 1e308 }, served({})), 16_000)
    assert.equal(outputOf({ completion_tokens: 1e308 }, served({ n: 2 })), 32_000)
    const lowered = served({ max_tokens: 500 }, 'openai', { loweredMaximum: 20 })
    assert.equal(outputOf({ completion_tokens: 400 }, lowered), 20)
    const claim = { prompt_tokens: 5, completion_tokens: 11 }
    const { usage, isClamped } = billFromUsage(meterOf({ usage: parseUsage(claim) }), lowered)
    assert.deepEqual([usage.output, isClamped], [11, false])
  })

  test('A maximum that the upstream’s API raised is charged', () => {
    const raised = served({ max_tokens: 5 }, 'openai', { minMaximumTokens: 16 })
    assert.equal(outputOf({ completion_tokens: 11 }, raised), 11)
    assert.equal(outputOf({ completion_tokens: 99 }, raised), 16)
  })

  test('fallback model – may write its own maximum', () => {
    const servedModel = { ...model, maxOutputTokens: 20_000 }
    assert.equal(outputOf({ completion_tokens: 30_000 }, served({}, 'openai', { servedModel })), 20_000)
  })

  test('reasoning – is billed beside the maximum by some providers only', () => {
    const claim = {
      completion_tokens: 10,
      total_tokens: 5 + 10 + 300,
      completion_tokens_details: { reasoning_tokens: 300 },
    }
    const asked = { max_tokens: 10 }
    for (const provider of ['xai', 'qwen', 'doubao', 'siliconflow', 'openrouter'])
      assert.equal(outputOf(claim, served(asked, provider)), 310, provider)
    for (const provider of ['openai', 'anthropic', 'gemini', 'deepseek', 'openai-compatible'])
      assert.equal(outputOf(claim, served(asked, provider)), 10, provider)
    assert.equal(outputOf({ ...claim, completion_tokens: 50, total_tokens: 355 }, served(asked, 'xai')), 310)
    const false8 = { total_tokens: 1e6, completion_tokens_details: { reasoning_tokens: 999_990 } }
    assert.equal(outputOf({ ...false8, completion_tokens: 5 }, served(asked, 'openai-compatible')), 10)
  })

  test('input – is charged up to the body and what the provider adds', () => {
    const request = served({})
    const { input, isClamped } = charged({ prompt_tokens: 99_999, completion_tokens: 1 }, request)
    assert.deepEqual([input, isClamped], [request.request.bytes + 1024, true])
    assert.equal(charged({ prompt_tokens: 850, completion_tokens: 1 }, request).isClamped, false)
    const cached = charged(
      { prompt_tokens: 99_999, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 90_000 } },
      request,
    )
    assert.equal(cached.input, request.request.bytes + 1024)
  })

  test('searches – are charged only if the request offers them, and their text as input', () => {
    const claim = {
      prompt_tokens: 50_000,
      completion_tokens: 1,
      server_tool_use: { web_search_requests: 1e9 },
    }
    assert.deepEqual(charged(claim, served({})).searches, 0)
    const offered = charged(claim, served({ web_search_options: {} }))
    assert.deepEqual([offered.searches, offered.input], [10, 50_000])
    assert.equal(charged(claim, served({}, 'perplexity')).searches, 100)
    const online = { route: { upstream: { provider: 'openrouter' }, upstreamModel: 'x/y:online' } }
    assert.equal(charged(claim, served({}, 'openrouter', online)).searches, 10)
    const tools = [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }]
    const messages = { request: messagesRequest({ tools }) }
    assert.equal(charged(claim, served({}, 'anthropic', messages)).searches, 3)
  })

  test('predictions and compaction – are billed beside the maximum', () => {
    const prediction = { type: 'content', content: 'x'.repeat(400) }
    const claim = { completion_tokens: 110 }
    assert.equal(outputOf(claim, served({ max_tokens: 10, prediction })), 110)
    const context_management = { edits: [{ type: 'compact_20260112' }] }
    const request = messagesRequest({ max_tokens: 10, context_management })
    assert.equal(outputOf({ completion_tokens: 3000 }, served({}, 'anthropic', { request })), 3000)
  })

  test('fields that the operator allowed – leave only the bounds of the model', () => {
    const request = served({ max_tokens: 10, n_predict: 500 })
    assert.equal(outputOf({ completion_tokens: 500 }, request), 500)
  })

  test('What was delivered is charged, although the upstream ignored the maximum', () => {
    const usage = parseUsage({ prompt_tokens: 5, completion_tokens: 900 })
    const ignored = served({ max_completion_tokens: 1 })
    for (const [tokens, output] of [
      [700, 700],
      [1000, 900],
    ] as const) {
      const { bound, isClamped } = billFromUsage(meterOf({ usage, tokens }), ignored)
      assert.deepEqual([bound?.output ?? 900, isClamped], [output, output < 900])
    }
    assert.equal(billFromUsage(meterOf({ tokens: 700 }), ignored).usage.output, 700)
  })

  test('An estimate is bounded by the asked maximum only if the upstream says that it ended there', () => {
    const atMaximum = { tokens: 90, finishReason: 'length' }
    const { usage, bound, isClamped } = billFromUsage(meterOf(atMaximum), served({ max_tokens: 10 }))
    assert.deepEqual([usage.output, bound, isClamped], [10, undefined, false])
    const others = billFromEstimate(meterOf(atMaximum), served({ max_tokens: 10 }, 'qwen'))
    assert.equal(others.usage.output, 90)
    assert.equal(billFromUsage(meterOf({ tokens: 90 }), served({ max_tokens: 10 })).usage.output, 90)
  })

  test('A stream that the relay cut is charged what was delivered, and marked', () => {
    const { usage, isClamped } = billFromCut(258, meterOf({ tokens: 400 }), served({ max_tokens: 1 }))
    assert.deepEqual([usage.output, isClamped], [258, true])
  })

  test('A stream that money ended is charged what was delivered, also with the provider’s usage', () => {
    const usage = parseUsage({ prompt_tokens: 5, completion_tokens: 100 })
    const outputOfBill = (tokens: number, delivered: number): readonly [number | undefined, boolean] => {
      const { bound, isClamped } = billWithoutMoney(delivered, meterOf({ usage, tokens }), served({}))
      return [bound?.output, isClamped]
    }
    assert.deepEqual(outputOfBill(80, 40), [40, true])
    // The relay counts twice as many tokens as the provider.
    assert.deepEqual(outputOfBill(200, 40), [20, true])
    assert.deepEqual(outputOfBill(200, 200), [undefined, false])
  })
})
