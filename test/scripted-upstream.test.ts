import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { once } from 'node:events'
import { test } from 'node:test'
import type { TestContext } from 'node:test'

import { blackhole, brokenTls, connectionRefusedUrl } from './support/upstream/unreachable-addresses.ts'
import type { Script } from './support/upstream/exchange.ts'
import * as mishaps from './support/upstream/fault-injection.ts'
import {
  embedding,
  endless,
  failing,
  failingInside,
  flood,
  hugeLine,
  recordedStream,
  redirecting,
  refusingStreamOptions,
  saying,
  sayingMany,
} from './support/upstream/scripted-responses.ts'
import { openUpstream } from './support/upstream/scripted-upstream.ts'
import type { ScriptedUpstream } from './support/upstream/scripted-upstream.ts'

async function open(t: TestContext, script?: Script): Promise<ScriptedUpstream> {
  const upstream = await openUpstream(script)
  t.after(() => upstream.close())
  return upstream
}

function ask(
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

/** The payloads of a stream; the reader splits at blank lines of any line ending. */
async function payloads(reply: Response): Promise<string[]> {
  const blocks = (await reply.text()).split(/\n\n|\r\n\r\n|\r\r/)
  const lines = blocks.flatMap((block) => block.split(/[\r\n]+/))
  return lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trim())
}

test('an answer is whole or streamed as asked, and its usage is told once', async (t) => {
  const upstream = await open(t, saying('Hello there!', { input: 1000, output: 100, cached: 7 }))

  const whole = (await (await ask(upstream)).json()) as { choices: unknown[]; usage: object }
  assert.deepEqual(whole.usage, {
    prompt_tokens: 1000,
    completion_tokens: 100,
    total_tokens: 1100,
    prompt_tokens_details: { cached_tokens: 7 },
    completion_tokens_details: { reasoning_tokens: 0 },
  })

  const told = await payloads(await ask(upstream, streamed))
  assert.equal(told.length, 6, 'role, two deltas, finish, usage, [DONE]')
  assert.match(told[1] ?? '', /"content":"Hello".*"usage":null/)
  assert.match(told[3] ?? '', /"finish_reason":"stop"/)
  assert.match(told[4] ?? '', /"choices":\[\].*"prompt_tokens":1000/)
  assert.equal(told[5], '[DONE]')

  const untold = await payloads(await ask(upstream, { stream: true }))
  assert.equal(untold.length, 5)
  assert.ok(!untold.join('').includes('usage'))
})

test('the log keeps what was asked and the meter what was taken', async (t) => {
  const upstream = await open(t)
  const length = (await (await ask(upstream)).text()).length
  const seen = await upstream.sawRequest()
  assert.equal(seen, upstream.requests[0])
  assert.equal(seen.method, 'POST')
  assert.equal(seen.path, '/v1/chat/completions')
  assert.equal(seen.headers['content-type'], 'application/json')
  assert.equal(seen.json['model'], 'small')
  await seen.over
  assert.equal(seen.bytesSent, length)
  assert.equal(seen.finished, true)
  assert.equal(seen.abortedAt, null)
  assert.equal(upstream.connections, 1)
})

test('the next scripts are played once each, then the model’s, then the usual one', async (t) => {
  const upstream = await open(t, failing(500))
  upstream.next(failing(429, undefined, { 'retry-after': '7' })).forModel('small', failing(404))
  const first = await ask(upstream)
  assert.equal(first.status, 429)
  assert.equal(first.headers.get('retry-after'), '7')
  assert.equal((await ask(upstream)).status, 404)
  assert.equal((await ask(upstream, { model: 'large' })).status, 500)
})

test('a caller who leaves is noticed, before, during and after headers', async (t) => {
  const upstream = await open(t)
  for (const script of [mishaps.mute, mishaps.muteAfterHeaders, endless()]) {
    upstream.next(script)
    const leaving = new AbortController()
    const reply = ask(upstream, streamed, leaving.signal)
    const seen = await upstream.sawRequest()
    leaving.abort()
    await assert.rejects(
      reply.then((response) => response.text()),
      { name: 'AbortError' },
    )
    assert.equal(await upstream.sawClose(), seen)
    assert.ok(seen.abortedAt !== null && !seen.finished)
  }
  assert.equal(upstream.inFlight, 0)
})

test('a stream is truncated by reset, by a clean end and by an error event', async (t) => {
  const upstream = await open(t)
  upstream.next(mishaps.truncating(3, 'reset', sayingMany(9)))
  await assert.rejects((await ask(upstream, streamed)).text())
  upstream.next(mishaps.truncating(3, 'end', sayingMany(9)))
  assert.equal((await payloads(await ask(upstream, streamed))).length, 3)
  upstream.next(mishaps.failingAfter(2, { message: 'no' }, sayingMany(9)))
  assert.deepEqual((await payloads(await ask(upstream, streamed)))[2], '{"error":{"message":"no"}}')
  upstream.next(mishaps.cutOff(40, saying('Hello!')))
  await assert.rejects((await ask(upstream)).text())
  upstream.next(mishaps.hangingUp)
  await assert.rejects(ask(upstream))
})

test('a stream waits for the test’s word', async (t) => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const upstream = await open(t, mishaps.pausingAfter(2, promise, sayingMany(4)))
  const reply = await ask(upstream, streamed)
  assert.equal(upstream.inFlight, 1)
  resolve()
  assert.equal((await payloads(reply)).length, 8)
})

test('line endings, spaces, comments and cuts change the bytes and not the events', async (t) => {
  const plain = saying('Hello you', { input: 1, output: 2 })
  const upstream = await open(t, plain)
  const expected = await payloads(await ask(upstream, streamed))
  for (const ending of ['\n', '\r\n', '\r'] as const) {
    const lines = { ending, space: false, before: [': still here'], inside: ['id: 1', 'retry: 5'] }
    upstream.next(mishaps.cutAt([1, 2, 30, 31, 200], mishaps.writtenAs(lines, plain)))
    assert.deepEqual(await payloads(await ask(upstream, streamed)), expected)
  }
  upstream.next(mishaps.cutAt('every byte', plain, 0))
  assert.deepEqual(await payloads(await ask(upstream, streamed)), expected)
  upstream.next(mishaps.slow(plain, 1))
  assert.deepEqual(await payloads(await ask(upstream, streamed)), expected)
})

test('recordings are played as they are, with the dialect’s own framing', async (t) => {
  const upstream = await open(t, recordedStream(['{"type":"message_start"}', '{"type":"message_stop"}']))
  assert.deepEqual((await payloads(await ask(upstream, streamed))).at(-1), '[DONE]')
  const reply = await fetch(`${upstream.url}/messages`, { method: 'POST', body: '{"stream":true}' })
  assert.equal(
    await reply.text(),
    'event: message_start\ndata: {"type":"message_start"}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n',
  )
})

test('usage can be absent, null, zero or raw; errors can hide inside 200', async (t) => {
  const upstream = await open(t)
  const usageOf = async (usage: Parameters<typeof saying>[1]) => {
    upstream.next(saying('x', usage))
    return ((await (await ask(upstream)).json()) as { usage?: { prompt_tokens?: number } | null }).usage
  }
  assert.equal(await usageOf('absent'), undefined)
  assert.equal(await usageOf(null), null)
  assert.equal((await usageOf({ input: 0, output: 0 }))?.prompt_tokens, 0)
  assert.deepEqual(await usageOf({ raw: { tokens: 1 } }), { tokens: 1 })
  upstream.next(failingInside(), failingInside(), mishaps.garbage, mishaps.garbage)
  assert.match(await (await ask(upstream)).text(), /^{"error":{"message":"overloaded"/)
  assert.match(await (await ask(upstream, streamed)).text(), /^data: {"error"/)
  await assert.rejects((await ask(upstream)).json())
  assert.match(await (await ask(upstream, streamed)).text(), /^<html>/)
})

test('stream options are refused, redirects told, embeddings counted', async (t) => {
  const upstream = await open(t, refusingStreamOptions(saying('Hi')))
  assert.equal((await ask(upstream, streamed)).status, 400)
  assert.equal((await ask(upstream, { stream: true })).status, 200)
  upstream.next(redirecting('http://127.0.0.1:1/'), embedding(8))
  assert.equal((await ask(upstream)).headers.get('location'), 'http://127.0.0.1:1/')
  const told = (await (await ask(upstream, { input: ['a', 'b'] })).json()) as { data: unknown[] }
  assert.equal(told.data.length, 2)
})

test('a caller who does not read stops the flood', async (t) => {
  const upstream = await open(t, flood(100 * 1024 * 1024))
  const body = '{"stream":true}'
  const caller = connect(upstream.port, '127.0.0.1')
  await once(caller, 'connect')
  caller
    .pause()
    .write(`POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
  const seen = await upstream.sawRequest()
  for (let before = -1; before !== seen.bytesSent; await new Promise((next) => setTimeout(next, 50))) {
    before = seen.bytesSent
  }
  assert.ok(seen.bytesSent > 0 && seen.bytesSent < 32 * 1024 * 1024, `${seen.bytesSent} bytes were taken`)
  caller.destroy()
  assert.equal(await upstream.sawClose(), seen)
})

test('a line of 16 MB arrives whole', async (t) => {
  const upstream = await open(t, hugeLine())
  const told = await payloads(await ask(upstream, streamed))
  assert.ok((told[1]?.length ?? 0) > 16 * 1024 * 1024)
})

test('dead ends refuse, break and swallow connections', async (t) => {
  await assert.rejects(fetch(await connectionRefusedUrl()))
  for (const deadEnd of [await brokenTls(), await blackhole()]) {
    t.after(() => deadEnd.close())
    await assert.rejects(fetch(deadEnd.url, { signal: AbortSignal.timeout(300) }))
  }
})
