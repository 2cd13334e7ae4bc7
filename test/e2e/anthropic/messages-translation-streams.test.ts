// @backend both (cluster in long runs)
/** Streams of the Messages API with upstreams of other formats: retries, pings and disconnects. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { readEvents } from '../../support/client/event-streams.ts'
import { waitForRecord } from '../../support/client/responses.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import {
  messagesRequest,
  assembleMessage,
  postMessages,
  parseMessagesEvents,
} from '../../support/upstream/anthropic-messages.ts'
import { neverRespond, pauseAfter } from '../../support/upstream/fault-injection.ts'
import { respondEndlessly, respondWithError, respondWith } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer({ env: { STREAM_KEEP_ALIVE: '100ms' } })
const usage = { input: 20, output: 6, cached: 8 }
const prices = { input: '0.002', output: '0.008', cached_input: '0.0002' }
const upstream = await server.upstream(respondWith('Hello, world!', usage))
upstream.strict('openai')
await server.model('m', { upstreams: [upstream], prices })
const alice = await server.account({ balance: '¥10' })

/** A second is what the documentation promises; a machine that is ten times slower may need more. */
const promptlyMs = 10_000

describe('Messages API translation of streams', () => {
  test('Upstream that rejects stream_options – is retried without, with max_completion_tokens', async () => {
    const strict = await server.upstream(respondWith('Hi.', 'absent'), { provider: 'openai' })
    strict.next(
      respondWithError(400, {
        error: { message: 'Unknown argument: stream_options', param: 'stream_options' },
      }),
    )
    await server.model('strict', { upstreams: [strict], prices })
    const response = await postMessages(alice, messagesRequest('strict', { stream: true }))
    assert.equal(assembleMessage(parseMessagesEvents(await response.text())).content[0]?.['text'], 'Hi.')
    assert.deepEqual(
      strict.requests.map(
        ({ json: { stream_options: options, max_tokens: legacy, max_completion_tokens: maximum } }) => [
          options,
          legacy,
          maximum,
        ],
      ),
      [
        [{ include_usage: true }, undefined, 256],
        [undefined, undefined, 256],
      ],
    )
    assert.equal((await waitForRecord(alice, response)).usage_source, 'estimate')
  })

  test('Silent upstream – pings keep the stream open, and a disconnect closes it within a second', async () => {
    const hanging = await server.upstream(neverRespond)
    await server.model('hanging', { upstreams: [hanging], prices })
    const [resume, disconnect] = [Promise.withResolvers<void>(), new AbortController()]
    upstream.next(pauseAfter(3, resume.promise, respondWith('one two', usage)))
    const text: string[] = []
    for await (const event of readEvents(await postMessages(alice, messagesRequest('m', { stream: true })))) {
      if (event === 'event: ping\ndata: {"type":"ping"}') resume.resolve()
      text.push(`${event}\n\n`)
    }
    assert.equal(assembleMessage(parseMessagesEvents(text.join(''))).content[0]?.['text'], 'one two')

    const response = await postMessages(alice, messagesRequest('hanging', { stream: true }), {
      signal: disconnect.signal,
    })
    for await (const event of readEvents(response)) {
      assert.equal(event, 'event: ping\ndata: {"type":"ping"}')
      break
    }
    const leftMs = performance.now()
    disconnect.abort()
    assert.ok(((await hanging.nextDisconnect()).abortedAt ?? Infinity) - leftMs < promptlyMs)
  })

  test('Disconnected caller – pays for the delivered tokens', async () => {
    const endless = await server.upstream(respondEndlessly(' more', 2))
    await server.model('endless', { upstreams: [endless], prices })
    const disconnect = new AbortController()
    const response = await postMessages(
      alice,
      messagesRequest('endless', { stream: true, max_tokens: 4096 }),
      {
        signal: disconnect.signal,
      },
    )
    let read = 0
    for await (const _event of readEvents(response)) if (++read === 30) break
    disconnect.abort()
    await endless.nextDisconnect()
    const record = await waitForRecord(alice, response)
    assert.deepEqual([record.outcome, record.usage_source], ['aborted', 'estimate'])
    assert.ok(record.completion_tokens >= 25 && Number(record.cost) > 0)
  })
})
