import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { describe, test, type TestContext } from 'node:test'
import { Hono } from 'hono'
import { apiErrorFromThrown } from '../http/api/thrown-errors.ts'
import { BodyBudget } from '../http/body.ts'
import { readIncoming } from '../http/body-receiver.ts'
import { limitBody } from '../http/middleware.ts'
import { RawClient } from '../http/server/fast-path.fixture.ts'
import { fetchListener } from '../http/server/fetch-listener.ts'
import { createHttpServer } from './http-server.ts'

const limits = {
  idleTimeoutMs: 75_000,
  highWaterMark: 16_384,
  bodyLimitBytes: 20 * 1024 * 1024,
  writeTimeoutMs: 60_000,
}

async function listen(t: TestContext, listener: RequestListener, timeouts = {}): Promise<number> {
  const server = createHttpServer({ ...limits, ...timeouts }, listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

const bounds = { bodyLimitBytes: 2_000_000, bodiesLimitBytes: 2_000_000, bodyTimeoutMs: 60 }

describe('createHttpServer', () => {
  test('defaults – heads and unread bodies have a time limit', () => {
    const server = createHttpServer(limits, () => undefined)
    assert.equal(server.headersTimeout, 60_000)
    assert.equal(server.requestTimeout, 60_000 + 30_000 + 1_280_000)
  })

  test('unfinished head – 408, and the connection is closed', async (t) => {
    const port = await listen(t, () => undefined, { headTimeoutMs: 50, checkIntervalMs: 10 })
    const client = new RawClient(t, port)
    await client.write('GET / HTTP/1.1\r\nHost: x\r\n')
    await client.waitForClose()
    assert.equal(client.responses[0]?.status, 408)
  })
})

describe('clients that do not read', () => {
  for (const sendsMore of [false, true]) {
    const name = sendsMore ? 'pending response of a client that sends more' : 'pending response'
    test(`${name} – the connection is closed after the write timeout`, async (t) => {
      const connected = Promise.withResolvers<Socket>()
      const port = await listen(
        t,
        (incoming, outgoing) => {
          connected.resolve(incoming.socket)
          outgoing.end(Buffer.alloc(50 * 1024 * 1024))
        },
        { writeTimeoutMs: 100, maxSendMs: () => 100 },
      )
      const client = new RawClient(t, port)
      client.socket.pause()
      await client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
      const sending = setInterval(() => sendsMore && client.socket.write('G'), 10)
      const socket = await connected.promise
      if (!socket.destroyed) await once(socket, 'close')
      clearInterval(sending)
    })
  }

  test('late response – a client that waits for it is not disconnected', async (t) => {
    const port = await listen(t, (_, outgoing) => void outgoing.on('timeout', () => outgoing.end('late')), {
      writeTimeoutMs: 50,
    })
    const client = new RawClient(t, port)
    for (const count of [1, 2]) {
      await client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
      assert.equal((await client.waitForResponses(count)).at(-1)?.body, 'late')
    }
  })
})

describe('bodies over node:http', () => {
  test('relayed body that only trickles – is rejected and releases the budget', async (t) => {
    const budget = new BodyBudget(bounds)
    const errors: string[] = []
    const port = await listen(t, (incoming, outgoing) => {
      readIncoming(incoming, budget, { owner: 'a' }).catch((error: unknown) => {
        errors.push(String(error))
        outgoing.writeHead(400, { connection: 'close' }).end()
      })
    })
    await new RawClient(t, port).trickle('POST /')
    assert.match(errors.join(), /Timed out while reading the request body/)
    assert.equal(budget.heldBytes, 0)
  })

  test('body of the console and admin API that stalls or trickles – 400, then closed', async (t) => {
    const app = new Hono()
    app.use(limitBody(new BodyBudget(bounds), () => ({ owner: 'a', maxBytes: bounds.bodyLimitBytes })))
    app.post('/', async (c) => c.text(await c.req.text()))
    app.onError((thrown, c) => {
      const { error, isBug } = apiErrorFromThrown(thrown)
      assert.equal(isBug, false)
      return c.json(error.toBody(), error.status as 400)
    })
    const port = await listen(
      t,
      fetchListener(async (request) => app.fetch(request)),
    )
    const [stalled, trickling, prompt] = [1, 2, 3].map(() => new RawClient(t, port)) as [
      RawClient,
      RawClient,
      RawClient,
    ]
    await stalled.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf')
    await Promise.all([stalled.waitForClose(), trickling.trickle('POST /')])
    for (const { responses } of [stalled, trickling]) {
      assert.equal(responses[0]?.status, 400)
      assert.match(responses[0]?.body ?? '', /Timed out while reading the request body/)
    }
    await prompt.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nfull')
    const [response] = await prompt.waitForResponses(1)
    assert.deepEqual([response?.status, response?.body], [200, 'full'])
  })
})
