import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { PricedModel } from '../catalog/catalog.ts'
import { nanoPrice } from '../ledger/ledger.fixture.ts'
import { parseUsage } from '../providers/usage.ts'
import type { ServedRequest } from './bill.ts'
import { observedMaximum } from './observed-maximum.ts'
import { readChatRequest } from './request/request-body.ts'

const model = { contextTokens: 128_000, maxOutputTokens: 16_000, price: nanoPrice } as PricedModel

function served(fields: object, more: Partial<ServedRequest> = {}, provider = 'openai'): ServedRequest {
  const body = { model: 'm', messages: [{ role: 'user', content: 'Say hello.' }], ...fields }
  const request = readChatRequest(Buffer.from(JSON.stringify(body)))
  const route = { upstream: { provider }, upstreamModel: 'm' }
  return { request, model, servedModel: model, route, loweredMaximum: null, ...more }
}

/** What a response with this many output tokens shows, by the provider's usage. */
function shownByUsage(output: number, request: ServedRequest, finishReason = 'stop', reasoning = 0) {
  const usage = parseUsage({
    prompt_tokens: 1,
    completion_tokens: output,
    completion_tokens_details: { reasoning_tokens: reasoning },
  })
  return observedMaximum({ usage, tokensWithoutRuns: 0, finishReason }, request)
}

/** What a response without usage shows, by the relay's count. */
function shownByCount(tokensWithoutRuns: number, request: ServedRequest) {
  return observedMaximum({ usage: null, tokensWithoutRuns, finishReason: 'stop' }, request)
}

describe('observedMaximum', () => {
  test('A route exceeds the maximum beyond 8 tokens per result', () => {
    assert.equal(shownByUsage(28, served({ max_tokens: 20 })), null)
    assert.equal(shownByUsage(29, served({ max_tokens: 20 })), 'exceeded')
    assert.equal(shownByUsage(56, served({ max_tokens: 20, n: 2 })), null)
    assert.equal(shownByUsage(57, served({ max_tokens: 20, n: 2 })), 'exceeded')
    assert.equal(shownByUsage(29, served({ max_tokens: 500 }, { loweredMaximum: 20 })), 'exceeded')
  })

  test('A maximum that the API raised is the one that counts', () => {
    const raised = served({ max_tokens: 5 }, { minMaximumTokens: 16 })
    assert.equal(shownByUsage(24, raised), null)
    assert.equal(shownByUsage(25, raised), 'exceeded')
    assert.equal(shownByUsage(16, raised, 'length'), 'obeyed')
  })

  test('Without a maximum, the one of the model counts', () => {
    assert.equal(shownByUsage(16_008, served({})), null)
    assert.equal(shownByUsage(16_009, served({})), 'exceeded')
    assert.equal(shownByUsage(16_000, served({}), 'length'), null)
  })

  test('Reasoning counts unless the provider excludes it from the maximum', () => {
    assert.equal(shownByUsage(300, served({ max_tokens: 20 }), 'stop', 290), 'exceeded')
    assert.equal(shownByUsage(300, served({ max_tokens: 20 }, {}, 'qwen'), 'stop', 290), null)
  })

  test('A route obeys if a response ends with length at the maximum', () => {
    assert.equal(shownByUsage(500, served({ max_tokens: 500 }), 'length'), 'obeyed')
    assert.equal(shownByUsage(495, served({ max_tokens: 500 }), 'length'), 'obeyed')
    assert.equal(shownByUsage(300, served({ max_tokens: 500 }), 'length'), null)
    assert.equal(shownByUsage(500, served({ max_tokens: 500 }), 'stop'), null)
  })

  test('Without usage, only a long non-streaming response shows that the route exceeds', () => {
    assert.equal(shownByCount(104, served({ max_tokens: 20 })), null)
    assert.equal(shownByCount(105, served({ max_tokens: 20 })), 'unseen')
    assert.equal(shownByCount(224, served({ max_tokens: 20 })), 'unseen')
    assert.equal(shownByCount(225, served({ max_tokens: 20 })), 'exceeded')
    assert.equal(shownByCount(5000, served({ max_tokens: 20, stream: true })), 'unseen')
  })

  test('What the bound of the invoice allows beyond the maximum shows nothing', () => {
    const prediction = { type: 'content', content: 'x'.repeat(400) }
    assert.equal(shownByUsage(110, served({ max_tokens: 10, prediction })), null)
    assert.equal(shownByCount(500, served({ max_tokens: 10, prediction })), null)
  })
})
