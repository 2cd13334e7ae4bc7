import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import { BodyBudget } from '../body.ts'
import {
  bodyLimitBytes,
  chatRequest,
  echo,
  startFastPath,
  withErrorResponses,
  RawClient,
  type RawResponse,
} from './fast-path.fixture.ts'
import { scriptedDelay, waitUntil, waitUntilUnchanged } from '../../../test/support/wait.ts'

/** Bodies may take 60 ms, and 120 ms without progress. */
function briefBudget(): BodyBudget {
  return new BodyBudget({ bodyLimitBytes, bodiesLimitBytes: bodyLimitBytes, bodyTimeoutMs: 60 })
}

function servedBy({ head }: RawResponse | { head: string }): string {
  return /\r\nx-by: ([\w-]+)/.exec(head)?.[1] ?? ''
}

describe('fast path', () => {
  test('plain request – served by the fast path with keep-alive headers', async (t) => {
    const { port } = await startFastPath(t)
    const client = new RawClient(t, port)
    await client.write(chatRequest('{"a":1}'))
    const [response] = await client.waitForResponses(1)
    assert.ok(response)
    assert.equal(servedBy(response), 'fast-path')
    assert.match(response.head, /^HTTP\/1\.1 200 OK\r\n/)
    assert.match(response.head, /\r\ndate: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r\n/)
    assert.match(response.head, /\r\nconnection: keep-alive\r\nkeep-alive: timeout=75\r\n/)
    const { text, headers } = JSON.parse(response.body) as { text: string; headers: string[] }
    assert.deepEqual([text, headers[0]], ['{"a":1}', 'Bearer k'])
  })

  test('request split at any byte – handled like an unsplit one', async (t) => {
    const { port } = await startFastPath(t)
    const request = chatRequest('{"model":"m"}', 'content-type: application/json\r\n')
    const unsplit = new RawClient(t, port)
    await unsplit.write(request)
    const expected = (await unsplit.waitForResponses(1))[0]?.body
    await Promise.all(
      Array.from({ length: request.length - 1 }, async (_, i) => {
        const client = new RawClient(t, port)
        await client.write(request.slice(0, i + 1))
        await scriptedDelay(5)
        await client.write(request.slice(i + 1))
        const [response] = await client.waitForResponses(1)
        assert.ok(response)
        assert.equal(response.body, expected)
        assert.equal(servedBy(response), 'fast-path')
        client.socket.destroy()
      }),
    )
  })

  test('request sent byte by byte – served by the fast path', async (t) => {
    const { port } = await startFastPath(t)
    const client = new RawClient(t, port)
    for (const byte of chatRequest('{"model":"m"}')) {
      await client.write(byte)
      await new Promise(setImmediate)
    }
    const [response] = await client.waitForResponses(1)
    assert.ok(response)
    assert.equal(servedBy(response), 'fast-path')
  })

  test('pipelined requests – get their responses in order, also after the fallback to node:http', async (t) => {
    const { port } = await startFastPath(t)
    const client = new RawClient(t, port)
    const get = 'GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n'
    const requests = [chatRequest('1'), chatRequest('22', '', '/chat/completions'), get, chatRequest('4444')]
    await client.write(requests.join(''))
    const responses = await client.waitForResponses(4)
    assert.deepEqual(responses.map(servedBy), ['fast-path', 'fast-path', 'node', 'node'])
    assert.deepEqual(
      responses.map(({ body }) => (JSON.parse(body) as { text: string }).text),
      ['1', '22', '', '4444'],
    )
  })

  test('1000 pipelined requests – all get a response', async (t) => {
    const { port } = await startFastPath(t, (request) => request.respond([]).send(200, [], request.path))
    const client = new RawClient(t, port)
    await client.write(chatRequest('x').repeat(1000))
    assert.equal((await client.waitForResponses(1000)).length, 1000)
  })

  test('keep-alive – reused until another endpoint passes the connection to node:http', async (t) => {
    const { port, fastPath } = await startFastPath(t)
    const client = new RawClient(t, port)
    for (const count of [1, 2, 3]) {
      await client.write(chatRequest('again'))
      await client.waitForResponses(count)
    }
    assert.equal(fastPath?.size, 1)
    await client.write('GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n')
    await client.waitForResponses(4)
    await client.write(chatRequest('after'))
    const responses = await client.waitForResponses(5)
    assert.deepEqual(responses.map(servedBy), ['fast-path', 'fast-path', 'fast-path', 'node', 'node'])
    assert.equal(fastPath?.size, 0)
    assert.equal((JSON.parse(responses[4]?.body ?? '') as { text: string }).text, 'after')
  })

  test('fallback to node:http – request split at any byte arrives complete', async (t) => {
    const { port } = await startFastPath(t)
    const request =
      'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n'
    await Promise.all(
      Array.from({ length: request.length - 1 }, async (_, i) => {
        const client = new RawClient(t, port)
        await client.write(request.slice(0, i + 1))
        await scriptedDelay(5)
        await client.write(request.slice(i + 1))
        const [response] = await client.waitForResponses(1)
        assert.ok(response)
        assert.equal(servedBy(response), 'node')
        assert.equal((JSON.parse(response.body) as { text: string }).text, 'abc')
        client.socket.destroy()
      }),
    )
  })

  test('Expect: 100-continue – handled by node:http', async (t) => {
    const { port } = await startFastPath(t)
    const client = new RawClient(t, port)
    await client.write(
      'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n',
    )
    await client.waitUntil(() => client.received.startsWith('HTTP/1.1 100 Continue\r\n\r\n'))
    await client.write('ok')
    const responses = await client.waitForResponses(2)
    assert.equal(responses[1]?.status, 200)
  })

  test('body of 20 MiB – arrives complete', async (t) => {
    const { port } = await startFastPath(t)
    const client = new RawClient(t, port)
    await client.write(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: ${bodyLimitBytes}\r\n\r\n`,
    )
    await client.write(Buffer.alloc(bodyLimitBytes, 'x'))
    const [response] = await client.waitForResponses(1)
    assert.ok(response)
    assert.equal(servedBy(response), 'fast-path')
    assert.equal((JSON.parse(response.body) as { bytes: number }).bytes, bodyLimitBytes)
  })

  test('body too large – 413 is sent while the client still writes', async (t) => {
    const { port } = await startFastPath(t)
    const client = new RawClient(t, port)
    const length = bodyLimitBytes + 1
    void client.write(`POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`)
    void client.write(Buffer.alloc(400_000))
    const [response] = await client.waitForResponses(1)
    assert.equal(response?.status, 413)
    assert.match(response?.head ?? '', /\r\nconnection: close\r\n/)
    void client.write(Buffer.alloc(length - 400_000))
    await client.waitForClose()
  })

  test('body budget – 503 beyond the total; a rejected body is released', async (t) => {
    const budget = new BodyBudget({ bodyLimitBytes: 1000, bodiesLimitBytes: 1500 })
    const { port } = await startFastPath(t, echo(budget))
    const [first, second] = [new RawClient(t, port), new RawClient(t, port)]
    const head = (account: string): string =>
      `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: ${account}\r\nContent-Length: 1000\r\n\r\n`
    await first.write(head('a') + 'x'.repeat(900))
    await waitUntil(() => budget.heldBytes === 900)
    await second.write(head('b') + 'x'.repeat(500))
    await waitUntil(() => budget.heldBytes === 1400)
    await second.write('x'.repeat(200))
    assert.equal((await second.waitForResponses(1))[0]?.status, 503)
    await first.write('x'.repeat(100))
    assert.equal((await first.waitForResponses(1))[0]?.status, 200)
    assert.equal(budget.heldBytes, 0)
  })

  test('timeouts – stalled head 408, stalled body 400, silent connection closed', async (t) => {
    const { port } = await startFastPath(t, echo(briefBudget()), {
      headTimeoutMs: 60,
      idleTimeoutMs: 60_000,
      lingerMs: 20,
      sweepIntervalMs: 10,
    })
    const [head, body, silent] = [new RawClient(t, port), new RawClient(t, port), new RawClient(t, port)]
    await head.write('POST /v1/chat/completions HTTP/1.1\r\nHost: x')
    await body.write('POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf')
    await Promise.all([head.waitForClose(), body.waitForClose(), silent.waitForClose()])
    assert.equal(head.responses[0]?.status, 408)
    assert.equal(body.responses[0]?.status, 400)
    assert.equal(silent.received, '')
  })

  test('body that only trickles – 400', async (t) => {
    const { port } = await startFastPath(t, echo(briefBudget()), {
      lingerMs: 20,
      sweepIntervalMs: 10,
    })
    const client = new RawClient(t, port)
    await client.trickle('POST /v1/chat/completions')
    assert.equal(client.responses[0]?.status, 400)
  })

  test('half-closed during the head – 400', async (t) => {
    const { port } = await startFastPath(t)
    const client = new RawClient(t, port)
    client.socket.end('POST /v1/chat/completions HTTP/1.1\r\nHost: x')
    await client.waitForClose()
    assert.equal(client.responses[0]?.status, 400)
  })

  test('idle connection – closed after the idle timeout', async (t) => {
    const { port } = await startFastPath(t, echo(), {
      headTimeoutMs: 300,
      idleTimeoutMs: 0,
      sweepIntervalMs: 10,
    })
    const client = new RawClient(t, port)
    await client.write(chatRequest('1'))
    await client.waitForResponses(1)
    const respondedMs = performance.now()
    await client.waitForClose()
    assert.ok(performance.now() - respondedMs > 400, 'closed before the idle timeout')
  })

  test('closeIdle – idle connections close now, busy ones after their response', async (t) => {
    const [begun, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const handle = withErrorResponses(async (request, response) => {
      if (request.path === '/chat/completions') {
        begun.resolve()
        await release.promise
      }
      response.send(200, [], 'done')
    })
    const { port, server, fastPath } = await startFastPath(t, handle)
    const [idle, busy] = [new RawClient(t, port), new RawClient(t, port)]
    await idle.write(chatRequest(''))
    await idle.waitForResponses(1)
    await busy.write(chatRequest('', '', '/chat/completions'))
    await begun.promise
    const closed = new Promise((resolve) => server.close(resolve))
    fastPath?.closeIdle()
    await idle.waitForClose()
    assert.equal(busy.isClosed, false)
    release.resolve()
    await busy.waitForClose()
    assert.equal(busy.responses[0]?.body, 'done')
    await closed
    assert.equal(fastPath?.size, 0)
  })

  test('closeIdle – a connection opened since the last sweep stays open for a request', async (t) => {
    const { port, fastPath } = await startFastPath(t, echo(), { sweepIntervalMs: 60_000 })
    assert.ok(fastPath)
    const [client, idle] = [new RawClient(t, port), new RawClient(t, port)]
    await waitUntil(() => fastPath.size === 2)
    fastPath.nowMs += 60_500
    fastPath.closeIdle()
    await client.write(chatRequest('late'))
    assert.equal((await client.waitForResponses(1))[0]?.status, 200)
    assert.equal(idle.isClosed, false)
    fastPath.nowMs += 1000
    fastPath.closeIdle()
    await idle.waitForClose()
  })

  test('pipelining during a request – buffered up to a bound', async (t) => {
    let handledCount = 0
    const count = 20_000
    const [first, release, all] = [1, 2, 3].map(() => Promise.withResolvers<void>())
    assert.ok(first && release && all)
    const budget = new BodyBudget({ bodyLimitBytes, bodiesLimitBytes: bodyLimitBytes })
    const handle = withErrorResponses(async (request, response) => {
      handledCount += 1
      first.resolve()
      budget.release('a', (await request.body(budget, 'a')).length)
      await release.promise
      response.send(200, [], '')
      if (handledCount === count) all.resolve()
    })
    const { port } = await startFastPath(t, handle)
    const socket = connect(port, '127.0.0.1')
    t.after(() => socket.destroy())
    socket.resume()
    socket.write(chatRequest('x'.repeat(1000)).repeat(count))
    await first.promise
    await waitUntilUnchanged(() => -socket.writableLength, 200)
    assert.equal(handledCount, 1)
    assert.ok(socket.writableLength > 0, 'the rest must wait at the sender')
    release.resolve()
    await all.promise
  })
})
