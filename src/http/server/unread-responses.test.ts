import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { describe, test } from 'node:test'
import { chatRequest, startFastPath, withErrorResponses, RawClient } from './fast-path.fixture.ts'

describe('unread responses on the fast path', () => {
  test('client that reads nothing – gets no further responses and is disconnected', async (t) => {
    let handledCount = 0
    const handle = withErrorResponses(async (_, response) => {
      handledCount += 1
      response.send(200, [], Buffer.alloc(1024 * 1024))
    })
    const { port, server } = await startFastPath(t, handle, {
      writeTimeoutMs: 100,
      maxSendMs: () => 100,
      sweepIntervalMs: 10,
    })
    const connected = once(server, 'connection') as Promise<[Socket]>
    const client = new RawClient(t, port)
    client.socket.pause()
    const [socket] = await connected
    const closed = once(socket, 'close')
    await client.write(chatRequest('x').repeat(200))
    // What it still sends does not keep the connection open.
    const sending = setInterval(() => client.socket.write('P'), 10)
    await closed
    clearInterval(sending)
    assert.ok(handledCount < 100, `${handledCount} responses of 1 MiB for a client that reads none`)
  })
})
