import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { describe, test } from 'node:test'
import {
  send,
  onRequest,
  createTestClient,
  startRawServer,
  minimalRequest,
  okResponse,
} from './http-client.fixture.ts'
import { staysFalse, waitUntilUnchanged } from '../../../test/support/wait.ts'

/** Writes zeros as fast as possible; `taken` returns how many the system has accepted. */
function writeZeros(socket: Socket, total: number): { taken: () => number } {
  const piece = Buffer.alloc(65_536)
  let given = 0
  const more = (): void => {
    while (given < total) {
      given += piece.length
      if (!socket.write(piece)) return
    }
  }
  socket.on('drain', more)
  more()
  return { taken: () => given - socket.writableLength }
}

describe('HttpExchange', () => {
  test('pause – applies backpressure to the server and loses nothing', async (t) => {
    const total = 64 * 1024 * 1024
    const writing = Promise.withResolvers<{ taken: () => number }>()
    const url = await startRawServer(t, (socket) =>
      onRequest(socket, (_, nth) => {
        if (nth > 0) return void socket.write(okResponse('ok'))
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${total}\r\n\r\n`)
        writing.resolve(writeZeros(socket, total))
      }),
    )
    const client = createTestClient(t)
    const { exchange, head, response, received } = send(client, url)
    await head
    exchange.pause()
    const { taken } = await writing.promise
    const blockedAt = await waitUntilUnchanged(taken, 60)
    assert.ok(blockedAt < total / 2, `${blockedAt} bytes were taken`)
    const bytesAt = received.bytes
    assert.ok(bytesAt <= 1024 * 1024)
    await staysFalse(() => received.bytes !== bytesAt, 30, 'although the exchange is paused')
    exchange.resume()
    const { body, failure } = await response
    assert.deepEqual([body.length, failure], [total, null])
    assert.equal((await send(client, url).response).body.toString(), 'ok')
    assert.equal(client.stats.opened, 1)
  })

  test('pause – from the start, emits nothing until resume', async (t) => {
    const url = await startRawServer(t, (socket) => onRequest(socket, () => socket.write(okResponse('ok'))))
    const client = createTestClient(t)
    for (let i = 0; i < 2; i += 1) {
      const { exchange, response, received } = send(client, url)
      exchange.pause()
      await staysFalse(() => received.calls.length > 0, 40, 'although the exchange is paused')
      exchange.resume()
      assert.equal((await response).body.toString(), 'ok')
    }
    assert.equal(client.stats.opened, 1)
  })

  test('reuse – a connection whose exchange ended while paused reads its next response', async (t) => {
    const url = await startRawServer(t, (socket) => onRequest(socket, () => socket.write(okResponse('ok'))))
    const client = createTestClient(t)
    for (let i = 0; i < 3; i += 1) {
      await new Promise<void>((resolve, reject) => {
        // The rest of the response arrives in the same read.
        const exchange = client.send(minimalRequest(url), {
          onHead: () => exchange.pause(),
          onData: () => {},
          onEnd: resolve,
          onFail: reject,
        })
      })
    }
    assert.equal(client.stats.opened, 1)
  })

  test('destroy – closes the connection within 100 ms and emits nothing more', async (t) => {
    const connected = Promise.withResolvers<Socket>()
    const url = await startRawServer(t, (socket) => {
      onRequest(socket, () => {
        socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
        const timer = setInterval(() => socket.write('1\r\nx\r\n'), 5)
        socket.on('close', () => clearInterval(timer))
        connected.resolve(socket)
      })
    })
    const client = createTestClient(t)
    const { exchange, head, received } = send(client, url)
    await head
    const socket = await connected.promise
    const closed = once(socket, 'close')
    const from = performance.now()
    exchange.destroy()
    const callCount = received.calls.length
    await closed
    assert.ok(performance.now() - from < 5000)
    exchange.pause()
    exchange.resume()
    exchange.destroy()
    await staysFalse(() => received.calls.length !== callCount, 20, 'although the exchange is destroyed')
    assert.ok(!received.calls.includes('fail') && !received.calls.includes('end'))
    assert.equal(client.stats.open, 0)
  })

  test('destroy – is possible at any time, also within callbacks', async (t) => {
    const url = await startRawServer(t, (socket) =>
      onRequest(socket, () => socket.write(okResponse('hello'))),
    )
    const client = createTestClient(t)
    const atOnce = send(client, url)
    atOnce.exchange.destroy()
    await send(client, url).response
    const reused = send(client, url)
    reused.exchange.destroy()
    for (const moment of ['head', 'data']) {
      const calls: string[] = []
      await new Promise<void>((resolve) => {
        const step = (call: string): void => {
          calls.push(call)
          if (call !== moment) return
          exchange.destroy()
          setImmediate(resolve)
        }
        const exchange = client.send(minimalRequest(url), {
          onHead: () => step('head'),
          onData: () => step('data'),
          onEnd: () => step('end'),
          onFail: () => step('fail'),
        })
      })
      assert.equal(calls.at(-1), moment)
    }
    const hasCalled = (): boolean => atOnce.received.calls.length + reused.received.calls.length > 0
    await staysFalse(hasCalled, 20, 'although both exchanges are destroyed')
  })

  test('large bodies – 20 MB up and one line of 16 MB down arrive intact', async (t) => {
    const up = Array.from({ length: 20 }, (_, i) => Buffer.alloc(1024 * 1024, `${i}abc`))
    const line = Buffer.alloc(16 * 1024 * 1024, 'data: x')
    const hashOf = (parts: readonly Buffer[]): string => {
      const hash = createHash('sha256')
      for (const part of parts) hash.update(part)
      return hash.digest('hex')
    }
    let received = ''
    const url = await startRawServer(t, (socket) => {
      const hash = createHash('sha256')
      let left = -1
      socket.on('data', (bytes: Buffer) => {
        let body = bytes
        if (left === -1) {
          body = bytes.subarray(bytes.indexOf('\r\n\r\n') + 4)
          left = 20 * 1024 * 1024
        }
        hash.update(body)
        left -= body.length
        if (left > 0) return
        received = hash.digest('hex')
        socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${line.length.toString(16)}\r\n`)
        socket.write(line)
        socket.write('\r\n0\r\n\r\n')
      })
    })
    const client = createTestClient(t)
    const { body, failure } = await send(client, url, { body: up }).response
    assert.equal(failure, null)
    assert.equal(received, hashOf(up))
    assert.equal(hashOf([body]), hashOf([line]))
    assert.equal(client.stats.idle, 1)
  })

  test('early response – is emitted, and its connection is not reused', async (t) => {
    const rejection = 'HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno'
    const endings: ((socket: Socket) => void)[] = [
      (socket) => socket.write(rejection),
      (socket) => socket.end(rejection),
      (socket) => socket.write(rejection, () => socket.destroy()),
    ]
    for (const respond of endings) {
      for (let i = 0; i < 5; i += 1) {
        const url = await startRawServer(t, (socket, connection) => {
          if (connection > 0) return onRequest(socket, () => socket.write(okResponse('ok')))
          socket.once('data', () => {
            socket.pause()
            respond(socket)
          })
        })
        const client = createTestClient(t)
        const body = Array.from({ length: 20 }, () => Buffer.alloc(1024 * 1024))
        const early = await send(client, url, { body }).response
        assert.deepEqual([early.status, early.body.toString(), early.failure], [413, 'no', null])
        assert.equal((await send(client, url).response).body.toString(), 'ok')
        assert.deepEqual([client.stats.opened, client.stats.reused], [2, 0])
      }
    }
  })
})
