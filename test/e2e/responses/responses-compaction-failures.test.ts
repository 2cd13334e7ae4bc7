// @backend both (cluster in long runs)
/** What a compaction by the relay holds and charges, and what happens when it fails. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { parseAmount } from '../../../src/lib/money.ts'
import { readEvents } from '../../support/client/event-streams.ts'
import { readError, waitForNewestRecord, waitForRecord } from '../../support/client/responses.ts'
import {
  compact,
  parseResponsesEvents,
  postResponses,
  responsesRequest,
} from '../../support/client/responses-api.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { neverRespond } from '../../support/upstream/fault-injection.ts'
import { respondEndlessly, respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

const server = await sharedTestServer()
const prices = { input: '0.002', output: '0.008' }
const chat = await server.upstream(respondWith('The bug is fixed.', { input: 20, output: 4 }))
await server.model('openai', { upstreams: [chat], prices })
const alice = await server.account({ balance: '¥10' })
const conversation = [{ role: 'user', content: 'Fix the bug in parser.ts.' }]
const trigger = { type: 'compaction_trigger' }

describe('Cost and failures of a compaction', () => {
  test('Maximum – is the caller’s, else 16,384 or the model’s, and lowered to the balance', async () => {
    await server.model('small', { upstreams: [chat], prices, max_output_tokens: 4096 })
    const body = { input: [...conversation, trigger] }
    for (const [model, fields, expected] of [
      ['openai', {}, 16_384],
      ['openai', { max_output_tokens: 500 }, 500],
      ['small', {}, 4096],
    ] as const) {
      await postResponses(alice, responsesRequest(model, { ...body, ...fields }))
      const sent: Record<string, unknown> = chat.requests.at(-1)?.json ?? {}
      assert.equal(sent['max_tokens'] ?? sent['max_completion_tokens'], expected)
    }
    const poor = await server.account({ balance: '¥0.05' })
    const cut = respondWith('The task', { input: 20, output: 6000 }, { finish: 'length' })
    chat.next(cut)
    const response = await compact(poor, responsesRequest('openai', body))
    assert.deepEqual([response.status, (await readError(response)).code], [402, 'insufficient_quota'])
    assert.equal((await server.verify()).ok, true)
  })

  test('Summary that is empty or cut – fails, and is charged', async () => {
    for (const script of [
      respondWith('', { input: 20, output: 4 }),
      respondWith('The task', { input: 20, output: 4 }, { finish: 'length' }),
    ]) {
      const body = responsesRequest('openai', { input: [...conversation, trigger] })
      chat.next(script, script, script)
      const responses = [await compact(alice, body), await postResponses(alice, body)]
      for (const response of responses) {
        const cost = response.headers.get('x-sluice-cost')
        assert.deepEqual([response.status, (await readError(response)).code], [422, 'compaction_failed'])
        const record = await waitForRecord(alice, response)
        assert.deepEqual([record.outcome, record.cost, cost], ['truncated', '0.000072', '0.000072'])
      }
      const streamed = await postResponses(alice, { ...body, stream: true })
      const events = parseResponsesEvents(await streamed.text())
      assert.equal(events.at(-1)?.response?.error?.code, 'compaction_failed')
      assert.deepEqual(events.at(-1)?.response?.output, [])
      assert.equal((await waitForRecord(alice, streamed)).cost, '0.000072')
    }
  })

  test('Failed compaction with an Idempotency-Key – is not repeated, nor charged again', async () => {
    const body = responsesRequest('openai', { input: conversation })
    const headers = { 'idempotency-key': 'compaction-2' }
    chat.next(respondWith('', { input: 20, output: 4 }))
    assert.equal((await compact(alice, body, headers)).status, 422)
    const balance = await alice.balance()
    const again = await compact(alice, body, headers)
    assert.deepEqual([again.status, (await readError(again)).code], [409, 'idempotency_conflict'])
    assert.equal(await alice.balance(), balance)
  })

  test('Disconnected caller – pays for what the model wrote until then', async () => {
    chat.next(respondEndlessly())
    const leave = new AbortController()
    const body = responsesRequest('openai', { input: [...conversation, trigger], stream: true })
    const response = await postResponses(alice, body, { signal: leave.signal })
    for await (const text of readEvents(response)) if (text.includes('response.in_progress')) break
    leave.abort()
    await chat.nextDisconnect()
    const record = await waitForRecord(alice, response)
    assert.deepEqual([record.outcome, record.usage_source], ['aborted', 'estimate'])
    assert.ok(Number(record.cost) > 0)
  })

  test('Killed relay – charges what was received, once', async () => {
    const caller = await server.account({ balance: '¥10' })
    chat.next(respondEndlessly())
    const body = responsesRequest('openai', { input: [...conversation, trigger], stream: true })
    const response = await postResponses(caller, body)
    for await (const text of readEvents(response)) if (text.includes('response.in_progress')) break
    await server.kill()
    await server.restart()
    await server.assertNoOpenHolds()
    const record = await waitForNewestRecord(caller)
    assert.equal(parseAmount(await caller.balance()), parseAmount('10') - parseAmount(record.cost))
  })

  test('Hold of a streamed trigger – covers the whole summary', async () => {
    chat.next(neverRespond)
    const caller = await server.account({ balance: '¥10' })
    const leave = new AbortController()
    const body = responsesRequest('openai', { input: [...conversation, trigger], stream: true })
    const pending = postResponses(caller, body, { signal: leave.signal }).catch(() => null)
    const held = await waitUntil(async () => Number(await caller.held()) || undefined, 'the hold')
    assert.ok(held > 16_384 * 0.000_008, String(held))
    leave.abort()
    await pending
    const record = await waitForNewestRecord(caller)
    assert.deepEqual([record.outcome, Number(record.cost)], ['aborted', 0])
  })
})
