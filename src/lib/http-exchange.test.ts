import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import {
  ask,
  onRequest,
  openClient,
  rawServer,
  requestTo,
  saying,
} from './http-client/http-client.fixture.ts'

/** Writes zeros as fast as they are taken; tells how many the system has taken. */
function pour(socket: Socket, total: number): { taken: () => number } {
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

/** Waits until a number does not change for a while. */
async function settled(read: () => number): Promise<number> {
  let last = -1
  while (last !== read()) {
    last = read()
    await delay(60)
  }
  return last
}

test('a paused exchange makes the server wait, and loses nothing', async (t) => {
  const total = 64 * 1024 * 1024
  const pouring = Promise.withResolvers<{ taken: () => number }>()
  const url = await rawServer(t, (socket) =>
    onRequest(socket, (_, nth) => {
      if (nth > 0) return void socket.write(saying('ok'))
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${total}\r\n\r\n`)
      pouring.resolve(pour(socket, total))
    }),
  )
  const client = openClient(t)
  const { exchange, head, answer, soFar } = ask(client, url)
  await head
  exchange.pause()
  const { taken } = await pouring.promise
  const blockedAt = await settled(taken)
  assert.ok(blockedAt < total / 2, `${blockedAt} bytes were taken`)
  const bytesAt = soFar.bytes
  assert.ok(bytesAt <= 1024 * 1024)
  await delay(30)
  assert.equal(soFar.bytes, bytesAt)
  exchange.resume()
  const { body, failure } = await answer
  assert.deepEqual([body.length, failure], [total, null])
  assert.equal((await ask(client, url).answer).body.toString(), 'ok')
  assert.equal(client.stats.opened, 1)
})

test('an exchange paused from its beginning hears nothing until it is resumed', async (t) => {
  const url = await rawServer(t, (socket) => onRequest(socket, () => socket.write(saying('ok'))))
  const client = openClient(t)
  for (let i = 0; i < 2; i += 1) {
    const { exchange, answer, soFar } = ask(client, url)
    exchange.pause()
    await delay(40)
    assert.deepEqual(soFar.calls, [])
    exchange.resume()
    assert.equal((await answer).body.toString(), 'ok')
  }
  assert.equal(client.stats.opened, 1)
})

test('a connection whose exchange ended paused reads its next answer', async (t) => {
  const url = await rawServer(t, (socket) => onRequest(socket, () => socket.write(saying('ok'))))
  const client = openClient(t)
  for (let i = 0; i < 3; i += 1) {
    await new Promise<void>((resolve, reject) => {
      // The rest of the answer is in the same read.
      const exchange = client.send(requestTo(url), {
        onHead: () => exchange.pause(),
        onData: () => {},
        onEnd: resolve,
        onFail: reject,
      })
    })
  }
  assert.equal(client.stats.opened, 1)
})

test('destroying an exchange closes its connection within 100 ms, and nothing more is told', async (t) => {
  const connected = Promise.withResolvers<Socket>()
  const url = await rawServer(t, (socket) => {
    onRequest(socket, () => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
      const timer = setInterval(() => socket.write('1\r\nx\r\n'), 5)
      socket.on('close', () => clearInterval(timer))
      connected.resolve(socket)
    })
  })
  const client = openClient(t)
  const { exchange, head, soFar } = ask(client, url)
  await head
  const socket = await connected.promise
  const closed = once(socket, 'close')
  const from = performance.now()
  exchange.destroy()
  const told = soFar.calls.length
  await closed
  assert.ok(performance.now() - from < 5000)
  exchange.pause()
  exchange.resume()
  exchange.destroy()
  await delay(20)
  assert.equal(soFar.calls.length, told)
  assert.ok(!soFar.calls.includes('fail') && !soFar.calls.includes('end'))
  assert.equal(client.stats.open, 0)
})

test('an exchange can be destroyed at any moment, also from within its own calls', async (t) => {
  const url = await rawServer(t, (socket) => onRequest(socket, () => socket.write(saying('hello'))))
  const client = openClient(t)
  const atOnce = ask(client, url)
  atOnce.exchange.destroy()
  await ask(client, url).answer
  const reused = ask(client, url)
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
      const exchange = client.send(requestTo(url), {
        onHead: () => step('head'),
        onData: () => step('data'),
        onEnd: () => step('end'),
        onFail: () => step('fail'),
      })
    })
    assert.equal(calls.at(-1), moment)
  }
  await delay(20)
  assert.deepEqual([atOnce.soFar.calls, reused.soFar.calls], [[], []])
})

test('20 MB go up and 16 MB in one line come down unharmed', async (t) => {
  const up = Array.from({ length: 20 }, (_, i) => Buffer.alloc(1024 * 1024, `${i}abc`))
  const line = Buffer.alloc(16 * 1024 * 1024, 'data: x')
  const hashOf = (parts: readonly Buffer[]): string => {
    const hash = createHash('sha256')
    for (const part of parts) hash.update(part)
    return hash.digest('hex')
  }
  let received = ''
  const url = await rawServer(t, (socket) => {
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
  const client = openClient(t)
  const { body, failure } = await ask(client, url, { body: up }).answer
  assert.equal(failure, null)
  assert.equal(received, hashOf(up))
  assert.equal(hashOf([body]), hashOf([line]))
  assert.equal(client.stats.idle, 1)
})

test('an answer before the request is written is told, and its connection is not used again', async (t) => {
  const refusal = 'HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno'
  const endings: ((socket: Socket) => void)[] = [
    (socket) => socket.write(refusal),
    (socket) => socket.end(refusal),
    (socket) => socket.write(refusal, () => socket.destroy()),
  ]
  for (const answer of endings) {
    for (let i = 0; i < 5; i += 1) {
      const url = await rawServer(t, (socket, connection) => {
        if (connection > 0) return onRequest(socket, () => socket.write(saying('ok')))
        socket.once('data', () => {
          socket.pause()
          answer(socket)
        })
      })
      const client = openClient(t)
      const body = Array.from({ length: 20 }, () => Buffer.alloc(1024 * 1024))
      const early = await ask(client, url, { body }).answer
      assert.deepEqual([early.status, early.body.toString(), early.failure], [413, 'no', null])
      assert.equal((await ask(client, url).answer).body.toString(), 'ok')
      assert.deepEqual([client.stats.opened, client.stats.reused], [2, 0])
    }
  }
})
