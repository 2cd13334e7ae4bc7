import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { describe, test, type TestContext } from 'node:test'
import type { ResponseWriter } from '../../relay/response-writer.ts'
import { chatRequest, startFastPath, startNodeServer, RawClient } from './fast-path.fixture.ts'

const event = (data: string): Buffer => Buffer.from(`data: ${data}\n\n`)
const errorEvent = event('{"error":{}}')
const largeEvent = event('x'.repeat(100_000))

function sendCut(response: ResponseWriter): void {
  response.start(200, ['content-type', 'text/event-stream'])
  response.write(event('1'))
  response.write(errorEvent)
  response.abort()
  // Too late: nothing of this may be sent.
  response.write(event('late'))
  response.end()
  response.send(200, [], 'late')
}

async function sendRequest(t: TestContext, port: number): Promise<IncomingMessage> {
  const agent = new Agent({ keepAlive: true })
  t.after(() => agent.destroy())
  const headers = { 'content-length': 2 }
  const outgoing = request({ port, agent, method: 'POST', path: '/v1/chat/completions', headers }).end('{}')
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  return response
}

describe('aborted stream', () => {
  for (const [path, start] of Object.entries({ 'fast path': startFastPath, 'node:http': startNodeServer })) {
    test(`client, ${path} – reads all events, then sees that the body is incomplete`, async (t) => {
      let disconnects = 0
      const { port, server } = await start(t, (incoming) => {
        const response = incoming.respond([])
        response.onDisconnect = () => (disconnects += 1)
        sendCut(response)
      })
      const connected = once(server, 'connection') as Promise<[Socket]>
      const response = await sendRequest(t, port)
      let text = ''
      const read = async (): Promise<void> => {
        for await (const part of response) text += String(part)
      }
      await assert.rejects(read, { code: 'ECONNRESET', message: 'aborted' })
      assert.equal(text, `data: 1\n\n${String(errorEvent)}`)
      assert.equal(response.complete, false)
      const [socket] = await connected
      if (!socket.destroyed) await once(socket, 'close')
      assert.equal(disconnects, 0, 'the relay has ended the response itself')

      const viaFetch = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
        method: 'POST',
        body: '{}',
      })
      const events: string[] = []
      const readEvents = async (): Promise<void> => {
        assert.ok(viaFetch.body)
        for await (const part of viaFetch.body) events.push(Buffer.from(part).toString())
      }
      await assert.rejects(readEvents, { name: 'TypeError', message: 'terminated' })
      assert.equal(events.join(''), text)
    })

    test(`bytes on the wire, ${path} – no last chunk and no further response`, async (t) => {
      let handled = 0
      const { port } = await start(t, (incoming) => {
        handled += 1
        sendCut(incoming.respond([]))
      })
      const client = new RawClient(t, port)
      await client.write(chatRequest('{}'))
      await client.waitUntil(() => client.received.includes('"error"'))
      // While the client reads the error event, it may have sent more.
      await client.write(path === 'fast path' ? chatRequest('{}') : 'P')
      await client.waitForClose()
      assert.match(client.received, /\r\n\r\n9\r\ndata: 1\n\n\r\n14\r\ndata: {"error":{}}\n\n\r\n$/)
      assert.equal(handled, 1)
    })

    test(`slow reader, ${path} – gets everything up to the error event`, async (t) => {
      let written = 0
      const ended = Promise.withResolvers<void>()
      const { port } = await start(t, async (incoming) => {
        const response = incoming.respond([])
        response.start(200, [])
        for (; response.write(largeEvent); written += 1) await new Promise(setImmediate)
        response.write(errorEvent)
        response.abort()
        ended.resolve()
      })
      const client = new RawClient(t, port)
      client.socket.pause()
      await client.write(chatRequest('{}'))
      await ended.promise
      client.socket.resume()
      await client.waitForClose()
      assert.ok(client.received.length > (written + 1) * largeEvent.length)
      assert.match(client.received, /data: {"error":{}}\n\n\r\n$/)
    })
  }

  test('HTTP/1.0 – has no chunks, so the body ends after the error event', async (t) => {
    const { port } = await startFastPath(t, (incoming) => sendCut(incoming.respond([])))
    const client = new RawClient(t, port)
    await client.write('POST /v1/chat/completions HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}')
    await client.waitForClose()
    assert.match(client.received, /\r\n\r\ndata: 1\n\ndata: {"error":{}}\n\n$/)
  })

  test('pipelined behind another response, node:http – is cut as well, and nothing follows', async (t) => {
    const writers: ResponseWriter[] = []
    const all = Promise.withResolvers<void>()
    const { port } = await startNodeServer(t, (incoming) => {
      writers.push(incoming.respond([]))
      if (writers.length === 3) all.resolve()
    })
    const client = new RawClient(t, port)
    await client.write(chatRequest('{}').repeat(3))
    await all.promise
    const [first, second, third] = writers
    assert.ok(first && second && third)
    sendCut(second)
    third.send(200, [], 'third')
    first.send(200, [], 'first')
    await client.waitForClose()
    assert.match(client.received, /\r\n\r\nfirstHTTP\/1\.1 200 OK[^]*data: {"error":{}}\n\n\r\n$/)
  })
})
