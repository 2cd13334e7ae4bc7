import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { describe, test, type TestContext } from 'node:test'
import type { ResponseWriter } from '../../relay/response-writer.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import { BodyBudget } from '../body.ts'
import { chatRequest, startFastPath, RawClient } from './fast-path.fixture.ts'

const MiB = 1024 * 1024
const eventStream = ['content-type', 'text/event-stream']

/** Starts a fast path whose requests are passed to the test, which responds to them. */
async function receiveRequests(
  t: TestContext,
): Promise<{ port: number; firstRequest: Promise<ReceivedRequest>; next: () => Promise<ReceivedRequest> }> {
  const waiting: ((received: ReceivedRequest) => void)[] = []
  const early: ReceivedRequest[] = []
  const next = (): Promise<ReceivedRequest> => {
    const first = early.shift()
    if (first) return Promise.resolve(first)
    return new Promise((resolve) => waiting.push(resolve))
  }
  const { port } = await startFastPath(t, (incoming) => {
    const received = { incoming, writer: incoming.respond(['x-request-id', 'req_1']) }
    const take = waiting.shift()
    if (take) take(received)
    else early.push(received)
  })
  return { port, firstRequest: next(), next }
}

interface ReceivedRequest {
  readonly incoming: IncomingRequest
  readonly writer: ResponseWriter
}

/** Sends a request with Node's own client, which checks the framing of the response. */
function sendRequest(t: TestContext, port: number): Promise<IncomingMessage> {
  const agent = new Agent({ keepAlive: true })
  t.after(() => agent.destroy())
  const headers = { 'content-length': 2 }
  const outgoing = request({ port, agent, method: 'POST', path: '/v1/chat/completions', headers })
  outgoing.end('{}')
  return once(outgoing, 'response').then(([response]) => response as IncomingMessage)
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

describe('FastResponseWriter', () => {
  test('non-streaming response – any size and alphabet arrives unchanged', async (t) => {
    const { port, next, firstRequest } = await receiveRequests(t)
    for (const body of ['', 'Grüße, 世界 🌍', 'é'.repeat(2 * MiB)]) {
      const response = sendRequest(t, port)
      const received = body === '' ? await firstRequest : await next()
      received.writer.send(200, ['content-type', 'text/plain'], Buffer.from(body))
      assert.equal((await response).headers['x-request-id'], 'req_1')
      assert.equal(await textOf(await response), body)
    }
  })

  test('stream – one write per turn, including head and end', async (t) => {
    const { port, firstRequest } = await receiveRequests(t)
    const client = new RawClient(t, port)
    const chunks: string[] = []
    client.socket.on('data', (text: string) => chunks.push(text))
    await client.write(chatRequest('{}'))
    const { writer } = await firstRequest
    writer.start(200, eventStream)
    writer.write(Buffer.from('data: 1\n\n'))
    writer.write(Buffer.alloc(0))
    writer.write(Buffer.from('data: 2\n\n'))
    await client.waitUntil(() => chunks.length === 1)
    assert.match(
      chunks[0] ?? '',
      /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n9\r\ndata: 1\n\n\r\n9\r\ndata: 2\n\n\r\n$/,
    )
    writer.write(Buffer.from('data: [DONE]\n\n'))
    writer.end()
    await client.waitUntil(() => chunks.length === 2)
    assert.equal(chunks[1], 'e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n')
  })

  test('stream without events – the head is sent', async (t) => {
    const { port, firstRequest } = await receiveRequests(t)
    const response = sendRequest(t, port)
    const { writer } = await firstRequest
    writer.start(200, eventStream)
    assert.equal((await response).headers['transfer-encoding'], 'chunked')
    writer.end()
    assert.equal(await textOf(await response), '')
  })

  test('write – copies the bytes before it returns', async (t) => {
    const { port, firstRequest } = await receiveRequests(t)
    const response = sendRequest(t, port)
    const { writer } = await firstRequest
    const bytes = Buffer.from('first')
    writer.start(200, eventStream)
    writer.write(bytes)
    bytes.write('other')
    writer.write(bytes)
    writer.end()
    assert.equal(await textOf(await response), 'firstother')
  })

  test('keep-alive – the next request follows a stream; late writes are ignored', async (t) => {
    const { port, firstRequest, next } = await receiveRequests(t)
    const client = new RawClient(t, port)
    await client.write(chatRequest('{}') + chatRequest('{}'))
    const first = await firstRequest
    first.writer.start(200, eventStream)
    first.writer.end()
    // Too late: nothing of this may reach the next response.
    first.writer.write(Buffer.from('late'))
    first.writer.send(500, [], 'late')
    first.writer.destroy()
    const second = await next()
    second.writer.send(200, [], 'second')
    await client.waitUntil(() => client.received.endsWith('second'))
    assert.doesNotMatch(client.received, /late/)
  })

  const disconnects: Readonly<Record<string, (client: RawClient) => void>> = {
    'breaks the connection': (client) => client.socket.resetAndDestroy(),
    'closes the connection': (client) => client.socket.destroy(),
    'half-closes the connection': (client) => client.socket.end(),
  }

  for (const [how, disconnect] of Object.entries(disconnects)) {
    for (const [when, more] of Object.entries({ '': '', ' with a pipelined request': chatRequest('{}') })) {
      test(`caller ${how} during a stream${when} – reported at once`, async (t) => {
        const { port, firstRequest } = await receiveRequests(t)
        const client = new RawClient(t, port)
        await client.write(chatRequest('{}') + more)
        const { writer } = await firstRequest
        const gone = Promise.withResolvers<void>()
        writer.onDisconnect = gone.resolve
        writer.start(200, eventStream)
        writer.write(Buffer.from('data: 1\n\n'))
        await client.waitUntil(() => client.received.includes('data: 1'))
        const leftAtMs = performance.now()
        disconnect(client)
        await gone.promise
        assert.ok(performance.now() - leftAtMs < 10_000)
        assert.equal(writer.isDisconnected, true)
        assert.equal(writer.write(Buffer.from('unheard')), true)
        writer.end()
      })
    }

    test(`caller ${how} before the response – reported`, async (t) => {
      const { port, firstRequest } = await receiveRequests(t)
      const client = new RawClient(t, port)
      await client.write(chatRequest('{}'))
      const { writer } = await firstRequest
      const gone = Promise.withResolvers<void>()
      writer.onDisconnect = gone.resolve
      disconnect(client)
      await gone.promise
      writer.send(200, [], 'unheard')
      assert.equal(writer.isStarted, false)
    })

    test(`caller ${how} during the body – body rejected, budget released`, async (t) => {
      const { port, firstRequest } = await receiveRequests(t)
      const client = new RawClient(t, port)
      await client.write(chatRequest('{"half":').replace('Content-Length: 8', 'Content-Length: 80'))
      const { incoming } = await firstRequest
      const budget = new BodyBudget({ bodyLimitBytes: 100, bodiesLimitBytes: 100 })
      const body = incoming.body(budget, 'a')
      disconnect(client)
      await assert.rejects(async () => await body, /incomplete/)
      assert.equal(budget.heldBytes, 0)
    })
  }

  test('response before the end of the body – nothing of the body is kept', async (t) => {
    const { port, firstRequest } = await receiveRequests(t)
    const client = new RawClient(t, port)
    await client.write(chatRequest('half').replace('Content-Length: 4', 'Content-Length: 8'))
    const { incoming, writer } = await firstRequest
    writer.send(401, ['connection', 'close'], '')
    incoming.linger()
    void client.write('rest')
    await client.waitForClose()
    assert.equal(incoming.isComplete, true)
    const budget = new BodyBudget({ bodyLimitBytes: 100, bodiesLimitBytes: 100 })
    assert.equal((await incoming.body(budget, 'a')).length, 0)
  })

  test('slow reader – backpressure until drained, nothing lost', async (t) => {
    const { port, firstRequest } = await receiveRequests(t)
    const socket = connect(port, '127.0.0.1')
    t.after(() => socket.destroy())
    socket.write(chatRequest('{}'))
    const { writer } = await firstRequest
    writer.start(200, eventStream)
    const event = Buffer.alloc(100_000, 'x')
    let written = 0
    for (; writer.write(event); written += 1) {
      assert.ok(written < 1000, 'nothing held the writer back')
      await new Promise(setImmediate)
    }
    const drained = Promise.withResolvers<void>()
    writer.onDrain = drained.resolve
    const ended = Promise.withResolvers<void>()
    let receivedBytes = 0
    let tail = ''
    socket.on('data', (bytes) => {
      receivedBytes += bytes.length
      tail = (tail + bytes.toString('latin1')).slice(-5)
      if (tail === '0\r\n\r\n') ended.resolve()
    })
    await drained.promise
    writer.end()
    await ended.promise
    assert.ok(receivedBytes > (written + 1) * event.length)
  })

  test('header value with a line break – rejected', async (t) => {
    const { port, firstRequest } = await receiveRequests(t)
    const client = new RawClient(t, port)
    await client.write(chatRequest('{}'))
    const { writer } = await firstRequest
    assert.throws(() => writer.send(200, ['x-a', 'a\r\nset-cookie: b'], ''), /Invalid characters/)
    writer.send(500, [], 'instead')
    assert.equal((await client.waitForResponses(1))[0]?.body, 'instead')
  })
})
