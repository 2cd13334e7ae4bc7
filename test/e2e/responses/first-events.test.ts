// @backend both (cluster in long runs)
/** The beginning of a stream that passes through: which events another upstream can still replace, and what they cost. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { readEvents } from '../../support/client/event-streams.ts'
import { waitForRecord } from '../../support/client/responses.ts'
import { parseResponsesEvents, postResponses, responsesRequest } from '../../support/client/responses-api.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { truncateAfter } from '../../support/upstream/fault-injection.ts'
import { messageItem, nativeEvents, respondWithItems } from '../../support/upstream/native-responses.ts'
import { respondWithEvents } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer()
const reasoning = { id: 'rs_1', type: 'reasoning', summary: [] }
const items = [reasoning, messageItem('Hello.')]
const timeouts = { first_token_ms: 1000, idle_ms: 60_000 }
const first = await server.upstream(respondWithItems(items), { provider: 'openai', timeouts })
const second = await server.upstream(respondWithItems(items), { provider: 'openai' })
await server.model('native', { upstreams: [first, second] })
const alice = await server.account({ balance: '10' })
const events = nativeEvents(items)
/** Sends this many events, the first two of which are `created` and `in_progress`. */
const begin = (count: number, fault: 'hang' | 'reset') =>
  truncateAfter(count, fault, respondWithEvents(events))
const streamed = responsesRequest('native', { stream: true })

describe('First events of a stream', () => {
  test('created and in_progress – wait, since another upstream may still take over', async () => {
    for (const fault of ['reset', 'hang'] as const) {
      first.next(begin(2, fault))
      const response = await postResponses(alice, streamed)
      const received = parseResponsesEvents(await response.text())
      assert.equal(received.at(-1)?.type, 'response.completed')
      const { attempts } = await waitForRecord(alice, response)
      assert.deepEqual(
        attempts.map(({ outcome }) => outcome),
        ['failed', 'ok'],
      )
    }
  })

  test('any other event – is sent at once; a failure is final then, and free', async () => {
    for (const fault of ['reset', 'hang'] as const) {
      first.next(begin(3, fault))
      const before = second.requests.length
      const response = await postResponses(alice, streamed)
      const received = parseResponsesEvents(await response.text())
      assert.deepEqual(
        received.map(({ type }) => type),
        [...events.slice(0, 3).map(({ name }) => name), 'error', 'response.failed'],
      )
      assert.deepEqual(received.at(-1)?.response?.usage, null)
      const { cost, outcome } = await waitForRecord(alice, response)
      assert.deepEqual([cost, outcome, second.requests.length], ['0', 'truncated', before])
    }
  })

  test('encrypted reasoning – is content, so that a caller who leaves with it pays for it', async () => {
    const caller = await server.account({ balance: '10' })
    const encrypted = { ...reasoning, encrypted_content: 'g'.repeat(12_000) }
    const script = respondWithEvents(nativeEvents([encrypted, messageItem('Hello.')]))
    first.next(truncateAfter(4, 'hang', script))
    const controller = new AbortController()
    const response = await postResponses(caller, streamed, { signal: controller.signal })
    for await (const block of readEvents(response)) if (block.includes('output_item.done')) break
    controller.abort()
    const { completion_tokens: output, outcome } = await waitForRecord(caller, response)
    assert.deepEqual([output, outcome], [1000, 'aborted'])
  })

  test('caller that leaves before the first content – leaves early, as before the first event', async () => {
    const caller = await server.account({ balance: '10' })
    first.next(begin(3, 'hang'))
    const controller = new AbortController()
    const response = await postResponses(caller, streamed, { signal: controller.signal })
    for await (const block of readEvents(response)) if (block.includes('output_item.added')) break
    controller.abort()
    const { cost, outcome } = await waitForRecord(caller, response)
    assert.deepEqual([cost, outcome], ['0', 'aborted'])
  })
})
