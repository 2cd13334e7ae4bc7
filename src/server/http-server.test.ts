import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test, type TestContext } from 'node:test'
import { Hono } from 'hono'
import { apiErrorFromThrown } from '../http/api/thrown-errors.ts'
import { BodyBudget, readBody } from '../http/body.ts'
import { limitBody } from '../http/middleware.ts'
import { RawClient } from '../http/server/fast-path.fixture.ts'
import { fetchListener } from '../http/server/fetch-listener.ts'
import { createHttpServer } from './http-server.ts'

const limits = { idleTimeoutMs: 75_000, highWaterMark: 16_384, bodyLimitBytes: 20 * 1024 * 1024 }

async function listen(t: TestContext, listener: RequestListener, timeouts = {}): Promise<number> {
  const server = createHttpServer({ ...limits, ...timeouts }, listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

const slow = (bytes: number): number => 60 + bytes / 1000

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

describe('bodies over node:http', () => {
  test('relayed body that only trickles – is rejected and releases the budget', async (t) => {
    const budget = new BodyBudget({ bodyLimitBytes: 2_000_000, bodiesLimitBytes: 2_000_000 })
    const errors: string[] = []
    const port = await listen(t, (incoming, outgoing) => {
      readBody(incoming, budget, slow).catch((error: unknown) => {
        errors.push(String(error))
        outgoing.writeHead(400, { connection: 'close' }).end()
      })
    })
    await new RawClient(t, port).trickle('POST /')
    assert.match(errors.join(), /Timed out while reading the request body/)
    budget.reserve(2_000_000)
  })

  test('body of the console and admin API that stalls or trickles – 400, then closed', async (t) => {
    const app = new Hono()
    app.use(limitBody(slow))
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
