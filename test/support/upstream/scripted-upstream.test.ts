import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'

import { blackhole, brokenTls, connectionRefusedUrl } from './unreachable-addresses.ts'
import type { Script } from './exchange.ts'
import * as faults from './fault-injection.ts'
import {
  respondWithEmbeddings,
  respondEndlessly,
  respondWithError,
  respondWithErrorInside200,
  respondWithFlood,
  respondWithHugeLine,
  respondWithRecordedStream,
  respondWithRedirect,
  rejectStreamOptions,
  respondWith,
  respondWithDeltas,
} from './scripted-responses.ts'
import { startScriptedUpstream } from './scripted-upstream.ts'
import { strict } from './strict-upstream.ts'
import type { ScriptedUpstream } from './scripted-upstream.ts'
import { waitUntilUnchanged } from '../wait.ts'

async function start(t: TestContext, script?: Script): Promise<ScriptedUpstream> {
  const upstream = await startScriptedUpstream(script)
  t.after(() => upstream.close())
  return upstream
}

function sendRequest(
  upstream: ScriptedUpstream,
  fields: object = {},
  signal: AbortSignal | null = null,
): Promise<Response> {
  const body = JSON.stringify({ model: 'small', messages: [{ role: 'user', content: 'Hi' }], ...fields })
  const headers = { 'content-type': 'application/json' }
  return fetch(`${upstream.url}/chat/completions`, {
    method: 'POST',
    headers,
    body,
    signal,
    redirect: 'manual',
  })
}

const streamed = { stream: true, stream_options: { include_usage: true } }

/** The payloads of a stream, split at blank lines with any line ending. */
async function readPayloads(response: Response): Promise<string[]> {
  const blocks = (await response.text()).split(/\n\n|\r\n\r\n|\r\r/)
  const lines = blocks.flatMap((block) => block.split(/[\r\n]+/))
  return lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trim())
}

describe('Scripted upstream', () => {
  test('Response – is streamed if requested, with its usage once', async (t) => {
    const upstream = await start(t, respondWith('Hello there!', { input: 1000, output: 100, cached: 7 }))

    const completion = (await (await sendRequest(upstream)).json()) as { choices: unknown[]; usage: object }
    assert.deepEqual(completion.usage, {
      prompt_tokens: 1000,
      completion_tokens: 100,
      total_tokens: 1100,
      prompt_tokens_details: { cached_tokens: 7 },
      completion_tokens_details: { reasoning_tokens: 0 },
    })

    const chunks = await readPayloads(await sendRequest(upstream, streamed))
    assert.equal(chunks.length, 6, 'role, two deltas, finish, usage, [DONE]')
    assert.match(chunks[1] ?? '', /"content":"Hello".*"usage":null/)
    assert.match(chunks[3] ?? '', /"finish_reason":"stop"/)
    assert.match(chunks[4] ?? '', /"choices":\[\].*"prompt_tokens":1000/)
    assert.equal(chunks[5], '[DONE]')

    const withoutUsage = await readPayloads(await sendRequest(upstream, { stream: true }))
    assert.equal(withoutUsage.length, 5)
    assert.ok(!withoutUsage.join('').includes('usage'))
  })

  test('Request log – records requests and the bytes that callers accept', async (t) => {
    const upstream = await start(t)
    const length = (await (await sendRequest(upstream)).text()).length
    const request = await upstream.nextRequest()
    assert.equal(request, upstream.requests[0])
    assert.equal(request.method, 'POST')
    assert.equal(request.path, '/v1/chat/completions')
    assert.equal(request.headers['content-type'], 'application/json')
    assert.equal(request.json['model'], 'small')
    await request.over
    assert.equal(request.bytesSent, length)
    assert.equal(request.finished, true)
    assert.equal(request.abortedAt, null)
    assert.equal(upstream.connections, 1)
  })

  test('Scripts – queued ones run once each, then the one of the model, then the default', async (t) => {
    const upstream = await start(t, respondWithError(500))
    upstream
      .next(respondWithError(429, undefined, { 'retry-after': '7' }))
      .forModel('small', respondWithError(404))
    const first = await sendRequest(upstream)
    assert.equal(first.status, 429)
    assert.equal(first.headers.get('retry-after'), '7')
    assert.equal((await sendRequest(upstream)).status, 404)
    assert.equal((await sendRequest(upstream, { model: 'large' })).status, 500)
  })

  test('Disconnect of a caller – is detected before, during and after the headers', async (t) => {
    const upstream = await start(t)
    for (const script of [faults.neverRespond, faults.hangAfterHeaders, respondEndlessly()]) {
      upstream.next(script)
      const disconnect = new AbortController()
      const reply = sendRequest(upstream, streamed, disconnect.signal)
      const request = await upstream.nextRequest()
      disconnect.abort()
      await assert.rejects(
        reply.then((response) => response.text()),
        { name: 'AbortError' },
      )
      assert.equal(await upstream.nextDisconnect(), request)
      assert.ok(request.abortedAt !== null && !request.finished)
    }
    assert.equal(upstream.inFlight, 0)
  })

  test('Stream – is truncated by a reset, a clean end or an error event', async (t) => {
    const upstream = await start(t)
    upstream.next(faults.truncateAfter(3, 'reset', respondWithDeltas(9)))
    await assert.rejects((await sendRequest(upstream, streamed)).text())
    upstream.next(faults.truncateAfter(3, 'end', respondWithDeltas(9)))
    assert.equal((await readPayloads(await sendRequest(upstream, streamed))).length, 3)
    upstream.next(faults.failAfter(2, { message: 'no' }, respondWithDeltas(9)))
    assert.deepEqual(
      (await readPayloads(await sendRequest(upstream, streamed)))[2],
      '{"error":{"message":"no"}}',
    )
    upstream.next(faults.resetAfterBytes(40, respondWith('Hello!')))
    await assert.rejects((await sendRequest(upstream)).text())
    upstream.next(faults.resetConnection)
    await assert.rejects(sendRequest(upstream))
  })

  test('Stream – pauses until the test resumes it', async (t) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const upstream = await start(t, faults.pauseAfter(2, promise, respondWithDeltas(4)))
    const response = await sendRequest(upstream, streamed)
    assert.equal(upstream.inFlight, 1)
    resolve()
    assert.equal((await readPayloads(response)).length, 8)
  })

  test('SSE format and splits – change the bytes but not the events', async (t) => {
    const plain = respondWith('Hello you', { input: 1, output: 2 })
    const upstream = await start(t, plain)
    const expected = await readPayloads(await sendRequest(upstream, streamed))
    for (const lineEnding of ['\n', '\r\n', '\r'] as const) {
      const lines = {
        lineEnding,
        hasSpace: false,
        linesBefore: [': still here'],
        linesInside: ['id: 1', 'retry: 5'],
      }
      upstream.next(faults.splitAt([1, 2, 30, 31, 200], faults.formatEvents(lines, plain)))
      assert.deepEqual(await readPayloads(await sendRequest(upstream, streamed)), expected)
    }
    upstream.next(faults.splitAt('every byte', plain, 0))
    assert.deepEqual(await readPayloads(await sendRequest(upstream, streamed)), expected)
    upstream.next(faults.paceEvents(plain, 1))
    assert.deepEqual(await readPayloads(await sendRequest(upstream, streamed)), expected)
  })

  test('Recordings – are replayed unchanged with the framing of their API format', async (t) => {
    const upstream = await start(
      t,
      respondWithRecordedStream(['{"type":"message_start"}', '{"type":"message_stop"}']),
    )
    assert.deepEqual((await readPayloads(await sendRequest(upstream, streamed))).at(-1), '[DONE]')
    const reply = await fetch(`${upstream.url}/messages`, { method: 'POST', body: '{"stream":true}' })
    assert.equal(
      await reply.text(),
      'event: message_start\ndata: {"type":"message_start"}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n',
    )
  })

  test('Usage and errors – may be absent, null, zero or raw, and errors may have status 200', async (t) => {
    const upstream = await start(t)
    const usageOf = async (usage: Parameters<typeof respondWith>[1]) => {
      upstream.next(respondWith('x', usage))
      return ((await (await sendRequest(upstream)).json()) as { usage?: { prompt_tokens?: number } | null })
        .usage
    }
    assert.equal(await usageOf('absent'), undefined)
    assert.equal(await usageOf(null), null)
    assert.equal((await usageOf({ input: 0, output: 0 }))?.prompt_tokens, 0)
    assert.deepEqual(await usageOf({ raw: { tokens: 1 } }), { tokens: 1 })
    upstream.next(
      respondWithErrorInside200(),
      respondWithErrorInside200(),
      faults.respondWithGarbage,
      faults.respondWithGarbage,
    )
    assert.match(await (await sendRequest(upstream)).text(), /^{"error":{"message":"overloaded"/)
    assert.match(await (await sendRequest(upstream, streamed)).text(), /^data: {"error"/)
    await assert.rejects((await sendRequest(upstream)).json())
    assert.match(await (await sendRequest(upstream, streamed)).text(), /^<html>/)
  })

  test('Strict upstream – returns the provider’s error, and fails tests that do not expect it', async (t) => {
    const upstream = await start(t)
    upstream.strict('openai', { expected: /^Unrecognized/ })
    const rejected = await sendRequest(upstream, { top_k: 1 })
    assert.equal(rejected.status, 400)
    assert.deepEqual(await rejected.json(), {
      error: {
        message: 'Unrecognized request argument supplied: top_k',
        type: 'invalid_request_error',
        param: null,
        code: null,
      },
    })
    assert.equal((await sendRequest(upstream)).status, 200)
    const failing = await startScriptedUpstream(strict('anthropic', respondWith('Hi')))
    const reply = await fetch(`${failing.url}/messages`, { method: 'POST', body: '{"stream":true}' })
    const error = { type: 'invalid_request_error', message: 'anthropic-version: header is required' }
    assert.deepEqual(await reply.json(), { type: 'error', error, request_id: 'req_strict' })
    await assert.rejects(failing.close(), { name: 'AggregateError' })
  })

  test('Rejected stream options, redirects and embeddings – are sent as scripted', async (t) => {
    const upstream = await start(t, rejectStreamOptions(respondWith('Hi')))
    assert.equal((await sendRequest(upstream, streamed)).status, 400)
    assert.equal((await sendRequest(upstream, { stream: true })).status, 200)
    upstream.next(respondWithRedirect('http://127.0.0.1:1/'), respondWithEmbeddings(8))
    assert.equal((await sendRequest(upstream)).headers.get('location'), 'http://127.0.0.1:1/')
    const embeddings = (await (await sendRequest(upstream, { input: ['a', 'b'] })).json()) as {
      data: unknown[]
    }
    assert.equal(embeddings.data.length, 2)
  })

  test('Caller that does not read – stops the flood', async (t) => {
    const upstream = await start(t, respondWithFlood(100 * 1024 * 1024))
    const body = '{"stream":true}'
    const socket = connect(upstream.port, '127.0.0.1')
    await once(socket, 'connect')
    socket
      .pause()
      .write(`POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
    const request = await upstream.nextRequest()
    await waitUntilUnchanged(() => request.bytesSent, 50)
    assert.ok(
      request.bytesSent > 0 && request.bytesSent < 32 * 1024 * 1024,
      `${request.bytesSent} bytes were taken`,
    )
    socket.destroy()
    assert.equal(await upstream.nextDisconnect(), request)
  })

  test('SSE line of 16 MB – arrives completely', async (t) => {
    const upstream = await start(t, respondWithHugeLine())
    const chunks = await readPayloads(await sendRequest(upstream, streamed))
    assert.ok((chunks[1]?.length ?? 0) > 16 * 1024 * 1024)
  })

  test('Unreachable addresses – refuse, break or drop connections', async (t) => {
    await assert.rejects(fetch(await connectionRefusedUrl()))
    for (const address of [await brokenTls(), await blackhole()]) {
      t.after(() => address.close())
      await assert.rejects(fetch(address.url, { signal: AbortSignal.timeout(300) }))
    }
  })
})
