import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { describe, test } from 'node:test'
import { send, onRequest, createTestClient, startRawServer, okResponse } from './http-client.fixture.ts'
import { encodeHeaders } from './http-client.ts'
import { scriptedDelay } from '../../../test/support/wait.ts'

describe('HttpClient', () => {
  test('request – is sent unchanged with the client’s own headers', async (t) => {
    const heads: string[] = []
    const bodies: string[] = []
    const url = await startRawServer(t, (socket) =>
      onRequest(socket, ({ head, body }) => {
        heads.push(head)
        bodies.push(body.toString())
        socket.write(okResponse('ok', 'Content-Type: text/plain\r\n'))
      }),
    )
    const client = createTestClient(t)
    const headers = encodeHeaders([
      ['Authorization', 'Bearer sk-1'],
      ['X-Latin', 'é'],
    ])
    const body = [Buffer.from('{"a":'), Buffer.alloc(0), Buffer.from('1}')]
    const postResponse = await send(client, `${url}/v1/chat?x=1`, { headers, body }).response
    assert.deepEqual(postResponse, {
      status: 200,
      type: 'text/plain',
      body: Buffer.from('ok'),
      failure: null,
    })
    await send(client, `${url}/v1/models`, { method: 'GET' }).response
    await send(client, url).response
    const host = new URL(url).host
    assert.deepEqual(heads, [
      `POST /v1/chat?x=1 HTTP/1.1\r\nhost: ${host}\r\nAuthorization: Bearer sk-1\r\nX-Latin: é\r\naccept-encoding: identity\r\ncontent-length: 7\r\nconnection: keep-alive\r\n`,
      `GET /v1/models HTTP/1.1\r\nhost: ${host}\r\naccept-encoding: identity\r\nconnection: keep-alive\r\n`,
      `POST / HTTP/1.1\r\nhost: ${host}\r\naccept-encoding: identity\r\ncontent-length: 0\r\nconnection: keep-alive\r\n`,
    ])
    assert.deepEqual(bodies, ['{"a":1}', '', ''])
  })

  test('redirect – is returned like any other response', async (t) => {
    const url = await startRawServer(t, (socket) =>
      onRequest(socket, () =>
        socket.write('HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n'),
      ),
    )
    const client = createTestClient(t)
    assert.equal((await send(client, url).response).status, 302)
    assert.equal(client.stats.opened, 1)
  })

  test('framing – every kind arrives intact byte by byte', async (t) => {
    const responses = [
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\nA: b\r\n\r\n',
      'HTTP/1.1 200 OK\r\n\r\nhello',
    ]
    const url = await startRawServer(t, (socket, connection) => {
      socket.once('data', () => {
        const bytes = Buffer.from(responses[connection] ?? '')
        let at = 0
        const next = (): void => {
          if (at === bytes.length) socket.end()
          else socket.write(bytes.subarray(at, ++at), () => setImmediate(next))
        }
        next()
      })
    })
    const client = createTestClient(t)
    for (const _ of responses) {
      const { status, body, failure } = await send(client, url).response
      assert.deepEqual([status, body.toString(), failure], [200, 'hello', null])
      while (client.stats.open > 0) await new Promise(setImmediate)
    }
  })

  test('malformed response – fails once and closes the connection', async (t) => {
    const url = await startRawServer(t, (socket) =>
      onRequest(socket, () => socket.write('HTTP/1.1 200 OK\nA: b\r\n\r\n')),
    )
    const client = createTestClient(t)
    const { failure } = await send(client, url).response
    assert.equal(failure?.kind, 'malformed')
    assert.deepEqual([failure.sent, failure.hasResponse], [true, true])
    while (client.stats.open > 0) await new Promise(setImmediate)
  })

  test('truncated response – is a failure for every framing', async (t) => {
    const partialResponses = [
      'HTTP/1.1 200',
      'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhell\r\n',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhell\r\n0\r\n',
    ]
    const url = await startRawServer(t, (socket, connection) => {
      socket.once('data', () => socket.end(partialResponses[connection] ?? ''))
    })
    const client = createTestClient(t)
    for (const _ of partialResponses) {
      const { failure } = await send(client, url).response
      assert.deepEqual([failure?.kind, failure?.sent, failure?.hasResponse], ['reset', true, true])
    }
  })

  test('connection reuse – one connection carries sequential requests', async (t) => {
    const url = await startRawServer(t, (socket) =>
      onRequest(socket, (_, nth) => socket.write(okResponse(`${nth}`))),
    )
    const client = createTestClient(t)
    for (let i = 0; i < 20; i += 1) assert.equal((await send(client, url).response).body.toString(), `${i}`)
    assert.deepEqual(client.stats, { open: 1, idle: 1, opened: 1, reused: 19, retried: 0 })
  })

  test('connection reuse – the connection is free when the end is emitted', async (t) => {
    const url = await startRawServer(t, (socket) =>
      onRequest(socket, (_, nth) => socket.write(okResponse(`${nth}`))),
    )
    const client = createTestClient(t)
    const bodies: string[] = []
    await new Promise<void>((resolve) => {
      const repeat = (left: number): void => {
        const { response } = send(client, url)
        void response.then(({ body }) => {
          bodies.push(body.toString())
          if (left === 0) resolve()
          else repeat(left - 1)
        })
      }
      repeat(3)
    })
    assert.deepEqual(bodies, ['0', '1', '2', '3'])
  })

  test('concurrency – parallel requests use their own connections, the last one is reused first', async (t) => {
    const url = await startRawServer(t, (socket, connection) => {
      onRequest(socket, () => socket.write(okResponse(`${connection}`)))
    })
    const client = createTestClient(t, { maxIdlePerOrigin: 2 })
    await Promise.all([send(client, url).response, send(client, url).response, send(client, url).response])
    assert.equal(client.stats.opened, 3)
    assert.equal(client.stats.idle, 2)
    const first = (await send(client, url).response).body.toString()
    assert.equal((await send(client, url).response).body.toString(), first)
  })

  test('connection reuse – stops on close, short keep-alive, HTTP/1.0 or surplus bytes', async (t) => {
    const endings = [
      okResponse('ok', 'Connection: close\r\n'),
      okResponse('ok', 'Keep-Alive: timeout=1\r\n'),
      okResponse('ok').replace('1.1', '1.0'),
      `${okResponse('ok')}surplus`,
      `${okResponse('ok')}${okResponse('poison')}`,
    ]
    const url = await startRawServer(t, (socket, connection) => {
      onRequest(socket, () => socket.write(endings[connection] ?? okResponse('last')))
    })
    const client = createTestClient(t)
    for (const _ of endings) assert.equal((await send(client, url).response).body.toString(), 'ok')
    assert.equal((await send(client, url).response).body.toString(), 'last')
    assert.equal(client.stats.reused, 0)
  })

  test('unsolicited bytes – close an idle connection', async (t) => {
    const sockets: Socket[] = []
    const url = await startRawServer(t, (socket, connection) => {
      sockets.push(socket)
      onRequest(socket, () => socket.write(okResponse(`${connection}`)))
    })
    const client = createTestClient(t)
    assert.equal((await send(client, url).response).body.toString(), '0')
    assert.equal(client.stats.idle, 1)
    sockets[0]?.write(okResponse('poison'))
    while (client.stats.open > 0) await new Promise(setImmediate)
    assert.equal((await send(client, url).response).body.toString(), '1')
  })

  test('idle connections – close after the timeout, and with the client', async (t) => {
    const closed: Promise<unknown>[] = []
    const url = await startRawServer(t, (socket) => {
      closed.push(once(socket, 'close'))
      onRequest(socket, () => socket.write(okResponse('ok')))
    })
    const client = createTestClient(t, { idleMs: 50 })
    await send(client, url).response
    await closed[0]
    const otherClient = createTestClient(t, { idleMs: 60_000 })
    await Promise.all([send(otherClient, url).response, send(otherClient, url).response])
    otherClient.close()
    await Promise.all(closed)
    await send(otherClient, url).response
    assert.equal(otherClient.stats.idle, 0)
  })

  test('stale connection – is replaced transparently', async (t) => {
    const closings: ((socket: Socket) => void)[] = [
      (socket) => socket.resetAndDestroy(),
      (socket) => socket.end(),
    ]
    for (const close of closings) {
      const bodies: string[] = []
      const url = await startRawServer(t, (socket, connection) => {
        onRequest(socket, ({ body }, nth) => {
          if (connection === 0 && nth === 1) return close(socket)
          bodies.push(body.toString())
          socket.write(okResponse('ok'))
        })
      })
      const client = createTestClient(t)
      await send(client, url, { body: [Buffer.from('one')] }).response
      const second = await send(client, url, { body: [Buffer.from('two')] }).response
      assert.deepEqual([second.status, second.failure], [200, null])
      assert.deepEqual(bodies, ['one', 'two'])
      assert.equal(client.stats.retried, 1)
    }
  })

  test('new connection – a failure is not retried', async (t) => {
    const url = await startRawServer(t, (socket, connection) => {
      onRequest(socket, (_, nth) => {
        if (connection === 0 && nth === 0) socket.write(okResponse('ok'))
        else socket.destroy()
      })
    })
    const client = createTestClient(t)
    await send(client, url).response
    const twice = await send(client, url).response
    assert.deepEqual(
      [twice.failure?.kind, twice.failure?.sent, twice.failure?.hasResponse],
      ['reset', true, false],
    )
    assert.deepEqual([client.stats.opened, client.stats.retried], [2, 1])
  })

  test('partial response – the request is not retried', async (t) => {
    const url = await startRawServer(t, (socket) => {
      onRequest(socket, (_, nth) => (nth === 0 ? socket.write(okResponse('ok')) : socket.end('H')))
    })
    const client = createTestClient(t)
    await send(client, url).response
    const { failure } = await send(client, url).response
    assert.deepEqual([failure?.kind, failure?.hasResponse, client.stats.retried], ['reset', true, 0])
  })

  test('retry – a request that may have been processed is not sent again', async (t) => {
    let requests = 0
    const url = await startRawServer(t, (socket) => {
      onRequest(socket, (_, nth) => {
        requests += 1
        if (nth === 0) socket.write(okResponse('ok'))
        else void scriptedDelay(80).then(() => socket.destroy())
      })
    })
    const client = createTestClient(t, { staleWindowMs: 20 })
    await send(client, url).response
    const { failure } = await send(client, url).response
    assert.deepEqual([failure?.kind, failure?.sent, failure?.hasResponse], ['reset', true, false])
    assert.equal(requests, 2)
  })

  test('stale connections – servers that close at any time lose no request', async (t) => {
    let turn = 0
    const url = await startRawServer(t, (socket) => {
      onRequest(socket, ({ body }) => {
        turn += 1
        socket.write(okResponse(body.toString()))
        if (turn % 3 === 0) socket.end()
        else if (turn % 5 === 0) setImmediate(() => socket.destroy())
        else if (turn % 7 === 0) void scriptedDelay(1).then(() => socket.end())
      })
    })
    const client = createTestClient(t)
    const caller = async (name: number): Promise<void> => {
      for (let i = 0; i < 50; i += 1) {
        const { body, failure } = await send(client, url, { body: [Buffer.from(`${name}.${i}`)] }).response
        assert.deepEqual([body.toString(), failure], [`${name}.${i}`, null])
      }
    }
    await Promise.all([1, 2, 3, 4].map(caller))
  })
})
