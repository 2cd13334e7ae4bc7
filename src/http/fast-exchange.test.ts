import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { test, type TestContext } from 'node:test'
import type { CallerExchange } from '../relay/exchange.ts'
import type { Arrival } from './incoming-request.ts'
import { BodyBudget } from './body.ts'
import { chatRequest, openLane, Talk } from './server/fast-path.fixture.ts'

const MiB = 1024 * 1024
const eventStream = ['content-type', 'text/event-stream']

/** Opens a lane whose first request is handed out, to be answered by the test. */
async function openExchange(
  t: TestContext,
): Promise<{ port: number; arrived: Promise<Visit>; next: () => Promise<Visit> }> {
  const waiting: ((visit: Visit) => void)[] = []
  const early: Visit[] = []
  const next = (): Promise<Visit> => {
    const first = early.shift()
    if (first) return Promise.resolve(first)
    return new Promise((resolve) => waiting.push(resolve))
  }
  const { port } = await openLane(t, (arrival) => {
    const visit = { arrival, exchange: arrival.reply(['x-request-id', 'req_1']) }
    const take = waiting.shift()
    if (take) take(visit)
    else early.push(visit)
  })
  return { port, arrived: next(), next }
}

interface Visit {
  readonly arrival: Arrival
  readonly exchange: CallerExchange
}

/** One request by node's own client, which checks the framing of what comes back. */
function ask(t: TestContext, port: number): Promise<IncomingMessage> {
  const agent = new Agent({ keepAlive: true })
  t.after(() => agent.destroy())
  const headers = { 'content-length': 2 }
  const asking = request({ port, agent, method: 'POST', path: '/v1/chat/completions', headers })
  asking.end('{}')
  return once(asking, 'response').then(([response]) => response as IncomingMessage)
}

async function textOf(response: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of response) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString()
}

test('a whole answer of any size and alphabet arrives as it was given', async (t) => {
  const { port, next, arrived } = await openExchange(t)
  for (const body of ['', 'Grüße, 世界 🌍', 'é'.repeat(2 * MiB)]) {
    const response = ask(t, port)
    const visit = body === '' ? await arrived : await next()
    visit.exchange.answer(200, ['content-type', 'text/plain'], Buffer.from(body))
    assert.equal((await response).headers['x-request-id'], 'req_1')
    assert.equal(await textOf(await response), body)
  }
})

test('what a stream says in one turn arrives as one write, its head and its end included', async (t) => {
  const { port, arrived } = await openExchange(t)
  const talk = new Talk(t, port)
  const pieces: string[] = []
  talk.socket.on('data', (text: string) => pieces.push(text))
  await talk.say(chatRequest('{}'))
  const { exchange } = await arrived
  exchange.begin(200, eventStream)
  exchange.write(Buffer.from('data: 1\n\n'))
  exchange.write(Buffer.alloc(0))
  exchange.write(Buffer.from('data: 2\n\n'))
  await talk.until(() => pieces.length === 1)
  assert.match(pieces[0] ?? '', /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n9\r\ndata: 1\n\n\r\n9\r\ndata: 2\n\n\r\n$/)
  exchange.write(Buffer.from('data: [DONE]\n\n'))
  exchange.end()
  await talk.until(() => pieces.length === 2)
  assert.equal(pieces[1], 'e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n')
})

test('a head without events goes out as well', async (t) => {
  const { port, arrived } = await openExchange(t)
  const response = ask(t, port)
  const { exchange } = await arrived
  exchange.begin(200, eventStream)
  assert.equal((await response).headers['transfer-encoding'], 'chunked')
  exchange.end()
  assert.equal(await textOf(await response), '')
})

test('bytes given to a stream may change as soon as they are given', async (t) => {
  const { port, arrived } = await openExchange(t)
  const response = ask(t, port)
  const { exchange } = await arrived
  const bytes = Buffer.from('first')
  exchange.begin(200, eventStream)
  exchange.write(bytes)
  bytes.write('other')
  exchange.write(bytes)
  exchange.end()
  assert.equal(await textOf(await response), 'firstother')
})

test('after a stream the connection carries the next request', async (t) => {
  const { port, arrived, next } = await openExchange(t)
  const talk = new Talk(t, port)
  await talk.say(chatRequest('{}') + chatRequest('{}'))
  const first = await arrived
  first.exchange.begin(200, eventStream)
  first.exchange.end()
  // Too late: nothing of it may reach the next answer.
  first.exchange.write(Buffer.from('late'))
  first.exchange.answer(500, [], 'late')
  first.exchange.destroy()
  const second = await next()
  second.exchange.answer(200, [], 'second')
  await talk.until(() => talk.heard.endsWith('second'))
  assert.doesNotMatch(talk.heard, /late/)
})

const leavings: Readonly<Record<string, (talk: Talk) => void>> = {
  'breaks the connection': (talk) => talk.socket.resetAndDestroy(),
  'closes the connection': (talk) => talk.socket.destroy(),
  'says that nothing more comes': (talk) => talk.socket.end(),
}

for (const [how, leave] of Object.entries(leavings)) {
  for (const [when, more] of Object.entries({ '': '', ', having asked for more': chatRequest('{}') })) {
    test(`a caller who ${how} within a stream${when} is known to be gone at once`, async (t) => {
      const { port, arrived } = await openExchange(t)
      const talk = new Talk(t, port)
      await talk.say(chatRequest('{}') + more)
      const { exchange } = await arrived
      const gone = Promise.withResolvers<void>()
      exchange.onGone = gone.resolve
      exchange.begin(200, eventStream)
      exchange.write(Buffer.from('data: 1\n\n'))
      await talk.until(() => talk.heard.includes('data: 1'))
      const leftAtMs = performance.now()
      leave(talk)
      await gone.promise
      assert.ok(performance.now() - leftAtMs < 10_000)
      assert.equal(exchange.isGone, true)
      assert.equal(exchange.write(Buffer.from('unheard')), true)
      exchange.end()
    })
  }

  test(`a caller who ${how} before the answer is gone`, async (t) => {
    const { port, arrived } = await openExchange(t)
    const talk = new Talk(t, port)
    await talk.say(chatRequest('{}'))
    const { exchange } = await arrived
    const gone = Promise.withResolvers<void>()
    exchange.onGone = gone.resolve
    leave(talk)
    await gone.promise
    exchange.answer(200, [], 'unheard')
    assert.equal(exchange.isBegun, false)
  })

  test(`a caller who ${how} within the body has broken it off`, async (t) => {
    const { port, arrived } = await openExchange(t)
    const talk = new Talk(t, port)
    await talk.say(chatRequest('{"half":').replace('Content-Length: 8', 'Content-Length: 80'))
    const { arrival } = await arrived
    const budget = new BodyBudget({ bodyLimitBytes: 100, bodiesLimitBytes: 100 })
    const body = arrival.body(budget)
    leave(talk)
    await assert.rejects(async () => await body, /broke off/)
    budget.take(100)
  })
}

test('who does not read makes the writer wait, and gets everything when reading on', async (t) => {
  const { port, arrived } = await openExchange(t)
  const socket = connect(port, '127.0.0.1')
  t.after(() => socket.destroy())
  socket.write(chatRequest('{}'))
  const { exchange } = await arrived
  exchange.begin(200, eventStream)
  const event = Buffer.alloc(100_000, 'x')
  let written = 0
  for (; exchange.write(event); written += 1) {
    assert.ok(written < 1000, 'nothing held the writer back')
    await new Promise(setImmediate)
  }
  const drained = Promise.withResolvers<void>()
  exchange.onDrain = drained.resolve
  const ended = Promise.withResolvers<void>()
  let heard = 0
  let tail = ''
  socket.on('data', (bytes) => {
    heard += bytes.length
    tail = (tail + bytes.toString('latin1')).slice(-5)
    if (tail === '0\r\n\r\n') ended.resolve()
  })
  await drained.promise
  exchange.end()
  await ended.promise
  assert.ok(heard > (written + 1) * event.length)
})

test('a value that would break the head is never sent', async (t) => {
  const { port, arrived } = await openExchange(t)
  const talk = new Talk(t, port)
  await talk.say(chatRequest('{}'))
  const { exchange } = await arrived
  assert.throws(() => exchange.answer(200, ['x-a', 'a\r\nset-cookie: b'], ''), /cannot be sent/)
  exchange.answer(500, [], 'instead')
  assert.equal((await talk.answered(1))[0]?.body, 'instead')
})
