import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { BodyBudget } from './body.ts'
import {
  bodyLimitBytes,
  chatRequest,
  echo,
  openLane,
  refusing,
  Talk,
  type Answer,
} from './server/fast-path.fixture.ts'

function by({ head }: Answer | { head: string }): string {
  return /\r\nx-by: (\w+)/.exec(head)?.[1] ?? ''
}

test('a regular request is answered by the lane, with what clients need to keep the connection', async (t) => {
  const { port } = await openLane(t)
  const talk = new Talk(t, port)
  await talk.say(chatRequest('{"a":1}'))
  const [answer] = await talk.answered(1)
  assert.ok(answer)
  assert.equal(by(answer), 'lane')
  assert.match(answer.head, /^HTTP\/1\.1 200 OK\r\n/)
  assert.match(answer.head, /\r\ndate: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r\n/)
  assert.match(answer.head, /\r\nconnection: keep-alive\r\nkeep-alive: timeout=75\r\n/)
  const { text, key } = JSON.parse(answer.body) as { text: string; key: string }
  assert.deepEqual({ text, key }, { text: '{"a":1}', key: 'Bearer k' })
})

test('a request cut in two at any byte is the same request', async (t) => {
  const { port } = await openLane(t)
  const request = chatRequest('{"model":"m"}', 'content-type: application/json\r\n')
  const whole = new Talk(t, port)
  await whole.say(request)
  const expected = (await whole.answered(1))[0]?.body
  await Promise.all(
    Array.from({ length: request.length - 1 }, async (_, i) => {
      const talk = new Talk(t, port)
      await talk.say(request.slice(0, i + 1))
      await delay(5)
      await talk.say(request.slice(i + 1))
      const [answer] = await talk.answered(1)
      assert.ok(answer)
      assert.equal(answer.body, expected)
      assert.equal(by(answer), 'lane')
      talk.socket.destroy()
    }),
  )
})

test('a request that comes byte by byte is the same request', async (t) => {
  const { port } = await openLane(t)
  const talk = new Talk(t, port)
  for (const byte of chatRequest('{"model":"m"}')) {
    await talk.say(byte)
    await new Promise(setImmediate)
  }
  const [answer] = await talk.answered(1)
  assert.ok(answer)
  assert.equal(by(answer), 'lane')
})

test('requests in one write are answered in their order, also by whom they are handed to', async (t) => {
  const { port } = await openLane(t)
  const talk = new Talk(t, port)
  const get = 'GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n'
  const asked = [chatRequest('1'), chatRequest('22', '', '/chat/completions'), get, chatRequest('4444')]
  await talk.say(asked.join(''))
  const answers = await talk.answered(4)
  assert.deepEqual(answers.map(by), ['lane', 'lane', 'node', 'node'])
  assert.deepEqual(
    answers.map(({ body }) => (JSON.parse(body) as { text: string }).text),
    ['1', '22', '', '4444'],
  )
})

test('a thousand requests in one write are answered one by one', async (t) => {
  const { port } = await openLane(t, (arrival) => arrival.reply([]).answer(200, [], arrival.path))
  const talk = new Talk(t, port)
  await talk.say(chatRequest('x').repeat(1000))
  assert.equal((await talk.answered(1000)).length, 1000)
})

test('a connection is used again and again, and what else comes over it is answered by node:http', async (t) => {
  const { port, lane } = await openLane(t)
  const talk = new Talk(t, port)
  for (const count of [1, 2, 3]) {
    await talk.say(chatRequest('again'))
    await talk.answered(count)
  }
  assert.equal(lane?.size, 1)
  await talk.say('GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n')
  await talk.answered(4)
  await talk.say(chatRequest('after'))
  const answers = await talk.answered(5)
  assert.deepEqual(answers.map(by), ['lane', 'lane', 'lane', 'node', 'node'])
  assert.equal(lane?.size, 0)
  assert.equal((JSON.parse(answers[4]?.body ?? '') as { text: string }).text, 'after')
})

test('what is handed over cut in two at any byte arrives whole', async (t) => {
  const { port } = await openLane(t)
  const request =
    'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n'
  await Promise.all(
    Array.from({ length: request.length - 1 }, async (_, i) => {
      const talk = new Talk(t, port)
      await talk.say(request.slice(0, i + 1))
      await delay(5)
      await talk.say(request.slice(i + 1))
      const [answer] = await talk.answered(1)
      assert.ok(answer)
      assert.equal(by(answer), 'node')
      assert.equal((JSON.parse(answer.body) as { text: string }).text, 'abc')
      talk.socket.destroy()
    }),
  )
})

test('who waits for 100 Continue gets it', async (t) => {
  const { port } = await openLane(t)
  const talk = new Talk(t, port)
  await talk.say(
    'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n',
  )
  await talk.until(() => talk.heard.startsWith('HTTP/1.1 100 Continue\r\n\r\n'))
  await talk.say('ok')
  const answers = await talk.answered(2)
  assert.equal(answers[1]?.status, 200)
})

test('a body of 20 MiB arrives whole', async (t) => {
  const { port } = await openLane(t)
  const talk = new Talk(t, port)
  await talk.say(`POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: ${bodyLimitBytes}\r\n\r\n`)
  await talk.say(Buffer.alloc(bodyLimitBytes, 'x'))
  const [answer] = await talk.answered(1)
  assert.ok(answer)
  assert.equal(by(answer), 'lane')
  assert.equal((JSON.parse(answer.body) as { bytes: number }).bytes, bodyLimitBytes)
})

test('a body that is too large is refused at once, and the refusal arrives while the body still comes', async (t) => {
  const { port } = await openLane(t)
  const talk = new Talk(t, port)
  const length = bodyLimitBytes + 1
  void talk.say(`POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`)
  void talk.say(Buffer.alloc(400_000))
  const [answer] = await talk.answered(1)
  assert.equal(answer?.status, 413)
  assert.match(answer?.head ?? '', /\r\nconnection: close\r\n/)
  void talk.say(Buffer.alloc(length - 400_000))
  await talk.closed()
})

test('all bodies together are bounded, and what was taken of a refused one is given back', async (t) => {
  const budget = new BodyBudget({ bodyLimitBytes: 1000, bodiesLimitBytes: 1500 })
  const { port } = await openLane(t, echo(budget))
  const [first, second] = [new Talk(t, port), new Talk(t, port)]
  const head = 'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n'
  await first.say(head + 'x'.repeat(900))
  await delay(20)
  await second.say(head + 'x'.repeat(500))
  await delay(20)
  await second.say('x'.repeat(200))
  assert.equal((await second.answered(1))[0]?.status, 503)
  await first.say('x'.repeat(100))
  assert.equal((await first.answered(1))[0]?.status, 200)
  budget.take(1500)
})

test('a body that stops coming is refused, and so is a head; who says nothing is disconnected', async (t) => {
  const terms = { headMs: 60, stallMs: 60, idleMs: 60_000, lingerMs: 20, sweepMs: 10 }
  const { port } = await openLane(t, echo(), terms)
  const [head, body, silent] = [new Talk(t, port), new Talk(t, port), new Talk(t, port)]
  await head.say('POST /v1/chat/completions HTTP/1.1\r\nHost: x')
  await body.say('POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf')
  await Promise.all([head.closed(), body.closed(), silent.closed()])
  assert.equal(head.answers[0]?.status, 408)
  assert.equal(body.answers[0]?.status, 400)
  assert.equal(silent.heard, '')
})

test('a head that ends before its end is refused', async (t) => {
  const { port } = await openLane(t)
  const talk = new Talk(t, port)
  talk.socket.end('POST /v1/chat/completions HTTP/1.1\r\nHost: x')
  await talk.closed()
  assert.equal(talk.answers[0]?.status, 400)
})

test('an idle connection is kept for its time, then closed', async (t) => {
  const { port } = await openLane(t, echo(), { headMs: 300, idleMs: 0, sweepMs: 10 })
  const talk = new Talk(t, port)
  await talk.say(chatRequest('1'))
  await talk.answered(1)
  const answeredMs = performance.now()
  await talk.closed()
  assert.ok(performance.now() - answeredMs > 400, 'it was closed as if it had never asked')
})

test('where the relay closes, idle connections close at once and running ones after their answer', async (t) => {
  const go = Promise.withResolvers<void>()
  const receive = refusing(async (arrival, exchange) => {
    if (arrival.path === '/chat/completions') await go.promise
    exchange.answer(200, [], 'done')
  })
  const { port, server, lane } = await openLane(t, receive)
  const [idle, busy] = [new Talk(t, port), new Talk(t, port)]
  await idle.say(chatRequest(''))
  await idle.answered(1)
  await busy.say(chatRequest('', '', '/chat/completions'))
  await delay(20)
  const closed = new Promise((resolve) => server.close(resolve))
  lane?.closeIdle()
  await idle.closed()
  assert.equal(busy.isClosed, false)
  go.resolve()
  await busy.closed()
  assert.equal(busy.answers[0]?.body, 'done')
  await closed
  assert.equal(lane?.size, 0)
})

test('requests that come while one runs wait, in bounds', async (t) => {
  let received = 0
  const count = 20_000
  const [first, go, all] = [1, 2, 3].map(() => Promise.withResolvers<void>())
  assert.ok(first && go && all)
  const budget = new BodyBudget({ bodyLimitBytes, bodiesLimitBytes: bodyLimitBytes })
  const receive = refusing(async (arrival, exchange) => {
    received += 1
    first.resolve()
    budget.release((await arrival.body(budget)).length)
    await go.promise
    exchange.answer(200, [], '')
    if (received === count) all.resolve()
  })
  const { port } = await openLane(t, receive)
  const socket = connect(port, '127.0.0.1')
  t.after(() => socket.destroy())
  socket.resume()
  socket.write(chatRequest('x'.repeat(1000)).repeat(count))
  await first.promise
  for (let left = -1; left !== socket.writableLength; await delay(200)) left = socket.writableLength
  assert.equal(received, 1)
  assert.ok(socket.writableLength > 0, 'the rest has to wait at the sender')
  go.resolve()
  await all.promise
})
