import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { ask, onRequest, openClient, rawServer, saying } from './http-client/http-client.fixture.ts'
import { headerLines } from './http-client/http-client.ts'

test('a request arrives as it was given, with the lines that the client adds', async (t) => {
  const heads: string[] = []
  const bodies: string[] = []
  const url = await rawServer(t, (socket) =>
    onRequest(socket, ({ head, body }) => {
      heads.push(head)
      bodies.push(body.toString())
      socket.write(saying('ok', 'Content-Type: text/plain\r\n'))
    }),
  )
  const client = openClient(t)
  const headers = headerLines([
    ['Authorization', 'Bearer sk-1'],
    ['X-Latin', 'é'],
  ])
  const body = [Buffer.from('{"a":'), Buffer.alloc(0), Buffer.from('1}')]
  const post = await ask(client, `${url}/v1/chat?x=1`, { headers, body }).answer
  assert.deepEqual(post, { status: 200, type: 'text/plain', body: Buffer.from('ok'), failure: null })
  await ask(client, `${url}/v1/models`, { method: 'GET' }).answer
  await ask(client, url).answer
  const host = new URL(url).host
  assert.deepEqual(heads, [
    `POST /v1/chat?x=1 HTTP/1.1\r\nhost: ${host}\r\nAuthorization: Bearer sk-1\r\nX-Latin: é\r\naccept-encoding: identity\r\ncontent-length: 7\r\nconnection: keep-alive\r\n`,
    `GET /v1/models HTTP/1.1\r\nhost: ${host}\r\naccept-encoding: identity\r\nconnection: keep-alive\r\n`,
    `POST / HTTP/1.1\r\nhost: ${host}\r\naccept-encoding: identity\r\ncontent-length: 0\r\nconnection: keep-alive\r\n`,
  ])
  assert.deepEqual(bodies, ['{"a":1}', '', ''])
})

test('a redirect is an answer like any other', async (t) => {
  const url = await rawServer(t, (socket) =>
    onRequest(socket, () => socket.write('HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n')),
  )
  const client = openClient(t)
  assert.equal((await ask(client, url).answer).status, 302)
  assert.equal(client.stats.opened, 1)
})

test('any framing arrives whole over the wire, byte by byte', async (t) => {
  const answers = [
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\nA: b\r\n\r\n',
    'HTTP/1.1 200 OK\r\n\r\nhello',
  ]
  const url = await rawServer(t, (socket, connection) => {
    socket.once('data', () => {
      const bytes = Buffer.from(answers[connection] ?? '')
      let at = 0
      const next = (): void => {
        if (at === bytes.length) socket.end()
        else socket.write(bytes.subarray(at, ++at), () => setImmediate(next))
      }
      next()
    })
  })
  const client = openClient(t)
  for (const _ of answers) {
    const { status, body, failure } = await ask(client, url).answer
    assert.deepEqual([status, body.toString(), failure], [200, 'hello', null])
    while (client.stats.open > 0) await new Promise(setImmediate)
  }
})

test('a malformed answer fails once, and its connection is closed', async (t) => {
  const url = await rawServer(t, (socket) =>
    onRequest(socket, () => socket.write('HTTP/1.1 200 OK\nA: b\r\n\r\n')),
  )
  const client = openClient(t)
  const { failure } = await ask(client, url).answer
  assert.equal(failure?.kind, 'malformed')
  assert.deepEqual([failure.sent, failure.answered], [true, true])
  while (client.stats.open > 0) await new Promise(setImmediate)
})

test('an answer that is cut off is a failure, however it is framed', async (t) => {
  const beginnings = [
    'HTTP/1.1 200',
    'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhell\r\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhell\r\n0\r\n',
  ]
  const url = await rawServer(t, (socket, connection) => {
    socket.once('data', () => socket.end(beginnings[connection] ?? ''))
  })
  const client = openClient(t)
  for (const _ of beginnings) {
    const { failure } = await ask(client, url).answer
    assert.deepEqual([failure?.kind, failure?.sent, failure?.answered], ['reset', true, true])
  }
})

test('one connection carries one request after the other', async (t) => {
  const url = await rawServer(t, (socket) => onRequest(socket, (_, nth) => socket.write(saying(`${nth}`))))
  const client = openClient(t)
  for (let i = 0; i < 20; i += 1) assert.equal((await ask(client, url).answer).body.toString(), `${i}`)
  assert.deepEqual(client.stats, { open: 1, idle: 1, opened: 1, reused: 19, retried: 0 })
})

test('the connection is free again when the end is told', async (t) => {
  const url = await rawServer(t, (socket) => onRequest(socket, (_, nth) => socket.write(saying(`${nth}`))))
  const client = openClient(t)
  const told: string[] = []
  await new Promise<void>((resolve) => {
    const again = (left: number): void => {
      const { answer } = ask(client, url)
      void answer.then(({ body }) => {
        told.push(body.toString())
        if (left === 0) resolve()
        else again(left - 1)
      })
    }
    again(3)
  })
  assert.deepEqual(told, ['0', '1', '2', '3'])
})

test('requests at once go over connections of their own, and the last used is taken first', async (t) => {
  const url = await rawServer(t, (socket, connection) => {
    onRequest(socket, () => socket.write(saying(`${connection}`)))
  })
  const client = openClient(t, { maxIdlePerOrigin: 2 })
  await Promise.all([ask(client, url).answer, ask(client, url).answer, ask(client, url).answer])
  assert.equal(client.stats.opened, 3)
  assert.equal(client.stats.idle, 2)
  const first = (await ask(client, url).answer).body.toString()
  assert.equal((await ask(client, url).answer).body.toString(), first)
})

test('a connection is not kept when the answer says so, or does not end where it had to', async (t) => {
  const endings = [
    saying('ok', 'Connection: close\r\n'),
    saying('ok', 'Keep-Alive: timeout=1\r\n'),
    saying('ok').replace('1.1', '1.0'),
    `${saying('ok')}surplus`,
    `${saying('ok')}${saying('poison')}`,
  ]
  const url = await rawServer(t, (socket, connection) => {
    onRequest(socket, () => socket.write(endings[connection] ?? saying('last')))
  })
  const client = openClient(t)
  for (const _ of endings) assert.equal((await ask(client, url).answer).body.toString(), 'ok')
  assert.equal((await ask(client, url).answer).body.toString(), 'last')
  assert.equal(client.stats.reused, 0)
})

test('bytes that nobody asked for end an idle connection', async (t) => {
  const sockets: Socket[] = []
  const url = await rawServer(t, (socket, connection) => {
    sockets.push(socket)
    onRequest(socket, () => socket.write(saying(`${connection}`)))
  })
  const client = openClient(t)
  assert.equal((await ask(client, url).answer).body.toString(), '0')
  assert.equal(client.stats.idle, 1)
  sockets[0]?.write(saying('poison'))
  while (client.stats.open > 0) await new Promise(setImmediate)
  assert.equal((await ask(client, url).answer).body.toString(), '1')
})

test('an idle connection is closed when its time is over, and all when the client closes', async (t) => {
  const closed: Promise<unknown>[] = []
  const url = await rawServer(t, (socket) => {
    closed.push(once(socket, 'close'))
    onRequest(socket, () => socket.write(saying('ok')))
  })
  const client = openClient(t, { idleMs: 50 })
  await ask(client, url).answer
  await closed[0]
  const patient = openClient(t, { idleMs: 60_000 })
  await Promise.all([ask(patient, url).answer, ask(patient, url).answer])
  patient.close()
  await Promise.all(closed)
  await ask(patient, url).answer
  assert.equal(patient.stats.idle, 0)
})

test('a connection that was closed while idle is replaced, and nobody notices', async (t) => {
  const closings: ((socket: Socket) => void)[] = [
    (socket) => socket.resetAndDestroy(),
    (socket) => socket.end(),
  ]
  for (const close of closings) {
    const bodies: string[] = []
    const url = await rawServer(t, (socket, connection) => {
      onRequest(socket, ({ body }, nth) => {
        if (connection === 0 && nth === 1) return close(socket)
        bodies.push(body.toString())
        socket.write(saying('ok'))
      })
    })
    const client = openClient(t)
    await ask(client, url, { body: [Buffer.from('one')] }).answer
    const second = await ask(client, url, { body: [Buffer.from('two')] }).answer
    assert.deepEqual([second.status, second.failure], [200, null])
    assert.deepEqual(bodies, ['one', 'two'])
    assert.equal(client.stats.retried, 1)
  }
})

test('a failure on a fresh connection is not repeated', async (t) => {
  const url = await rawServer(t, (socket, connection) => {
    onRequest(socket, (_, nth) => {
      if (connection === 0 && nth === 0) socket.write(saying('ok'))
      else socket.destroy()
    })
  })
  const client = openClient(t)
  await ask(client, url).answer
  const twice = await ask(client, url).answer
  assert.deepEqual(
    [twice.failure?.kind, twice.failure?.sent, twice.failure?.answered],
    ['reset', true, false],
  )
  assert.deepEqual([client.stats.opened, client.stats.retried], [2, 1])
})

test('an answer that began is not asked for again', async (t) => {
  const url = await rawServer(t, (socket) => {
    onRequest(socket, (_, nth) => (nth === 0 ? socket.write(saying('ok')) : socket.end('H')))
  })
  const client = openClient(t)
  await ask(client, url).answer
  const { failure } = await ask(client, url).answer
  assert.deepEqual([failure?.kind, failure?.answered, client.stats.retried], ['reset', true, 0])
})

test('a request that may have been worked on is not sent again', async (t) => {
  let requests = 0
  const url = await rawServer(t, (socket) => {
    onRequest(socket, (_, nth) => {
      requests += 1
      if (nth === 0) socket.write(saying('ok'))
      else setTimeout(() => socket.destroy(), 80)
    })
  })
  const client = openClient(t, { staleWindowMs: 20 })
  await ask(client, url).answer
  const { failure } = await ask(client, url).answer
  assert.deepEqual([failure?.kind, failure?.sent, failure?.answered], ['reset', true, false])
  assert.equal(requests, 2)
})

test('servers that close whenever they like lose no request', async (t) => {
  let turn = 0
  const url = await rawServer(t, (socket) => {
    onRequest(socket, ({ body }) => {
      turn += 1
      socket.write(saying(body.toString()))
      if (turn % 3 === 0) socket.end()
      else if (turn % 5 === 0) setImmediate(() => socket.destroy())
      else if (turn % 7 === 0) setTimeout(() => socket.end(), 1)
    })
  })
  const client = openClient(t)
  const caller = async (name: number): Promise<void> => {
    for (let i = 0; i < 50; i += 1) {
      const { body, failure } = await ask(client, url, { body: [Buffer.from(`${name}.${i}`)] }).answer
      assert.deepEqual([body.toString(), failure], [`${name}.${i}`, null])
    }
  }
  await Promise.all([1, 2, 3, 4].map(caller))
})
