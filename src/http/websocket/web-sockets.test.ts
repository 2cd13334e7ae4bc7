import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { describe, test, type TestContext } from 'node:test'
import { WebSocket, type RawData } from 'ws'
import type { Caller } from '../../accounts/directory.ts'
import { BodyBudget } from '../body.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import { isWebSocketRequest, WebSockets, type WebSocketsOptions } from './web-sockets.ts'

const bounds = { bodyLimitBytes: 1000, bodiesLimitBytes: 10_000, slowClientMs: 1000 }

interface Listening {
  /** Those of the server. */
  readonly sockets: readonly Duplex[]
  readonly bodies: BodyBudget
  readonly open: (options?: { autoPong: boolean }) => Promise<WebSocket>
}

/** Connections whose callers are all known, and whose requests never end. */
async function listen(
  t: TestContext,
  { hasFunds = true, ...options }: Partial<WebSocketsOptions> & { readonly hasFunds?: boolean },
): Promise<Listening> {
  const bodies = new BodyBudget({ ...bounds, ...options })
  const caller = { accountId: 'acc_1' } as Caller
  const webSockets = new WebSockets(
    {
      apiKeys: { authenticateEither: () => caller, authorize() {} },
      bodies,
      hasFunds: () => Promise.resolve(hasFunds),
      handleRequest(request: IncomingRequest) {
        request.respond([])
        request.openWebSocket?.(caller)
        return Promise.resolve()
      },
    },
    { ...bounds, ...options },
  )
  const server = createServer({ shouldUpgradeCallback: isWebSocketRequest })
  const sockets: Duplex[] = []
  server.on('upgrade', (incoming, socket, head) => {
    sockets.push(socket)
    webSockets.upgrade(incoming, socket, head)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const clients: WebSocket[] = []
  t.after(() => {
    for (const client of clients) client.terminate()
    webSockets.stop()
    server.close()
  })
  return {
    bodies,
    sockets,
    async open(clientOptions = { autoPong: true }) {
      const client = new WebSocket(`ws://127.0.0.1:${port}/v1/responses`, clientOptions)
      clients.push(client)
      await once(client, 'open')
      return client
    },
  }
}

async function nextError(client: WebSocket): Promise<string> {
  const [data] = (await once(client, 'message')) as [RawData]
  const { error } = JSON.parse((data as Buffer).toString()) as { error: { code: string } }
  return error.code
}

describe('WebSockets', () => {
  test('connection that is too old – an error, and it is closed', async (t) => {
    const { open } = await listen(t, { maxAgeMs: 0 })
    const client = await open()
    const closed = once(client, 'close')
    assert.equal(await nextError(client), 'websocket_connection_limit_reached')
    assert.equal(((await closed) as [number])[0], 1000)
  })

  test('client that answers no ping – is disconnected; others stay', async (t) => {
    const { open } = await listen(t, { pingIntervalMs: 0 })
    const [dead, alive] = [await open({ autoPong: false }), await open()]
    const [code] = (await once(dead, 'close')) as [number]
    assert.equal(code, 1006)
    await once(alive, 'ping')
    assert.equal(alive.readyState, WebSocket.OPEN)
  })

  test('A client that pings and does not read is disconnected', { timeout: 60_000 }, async (t) => {
    const { open, sockets } = await listen(t, { slowClientMs: 50 })
    const client = await open()
    const [socket] = sockets
    assert.ok(socket)
    const closed = once(socket, 'close')
    client.pause()
    const flood = setInterval(() => {
      for (let sent = 0; sent < 2000 && client.bufferedAmount < 1_000_000; sent += 1)
        client.ping(Buffer.alloc(125))
    }, 1)
    t.after(() => clearInterval(flood))
    await closed
  })

  test('Half a message is an error when its time is over, however often its client pings', async (t) => {
    const { open } = await listen(t, { bodyTimeoutMs: 100 })
    const client = await open()
    const closed = once(client, 'close')
    client.send('{"type":', { fin: false })
    const pings = setInterval(() => client.ping(), 20)
    assert.equal(await nextError(client), 'invalid_request')
    clearInterval(pings)
    assert.equal(((await closed) as [number])[0], 1013)
  })

  test('A client without funds sends small messages only', async (t) => {
    const large = { bodyLimitBytes: 1_000_000, bodiesLimitBytes: 8_000_000 }
    const { open } = await listen(t, { ...large, hasFunds: false })
    const client = await open()
    client.send('x'.repeat(60_000))
    assert.equal(await nextError(client), 'invalid_json')
    client.send('x'.repeat(300_000))
    assert.equal(await nextError(client), 'insufficient_quota')
  })

  test('incomplete frame – counts in the budget of the account', async (t) => {
    const { open, bodies } = await listen(t, {})
    const client = await open()
    client.send('{"type":', { fin: false })
    // It is answered when what came before it has been read.
    client.ping()
    await once(client, 'pong')
    assert.ok(bodies.heldBytes > '{"type":'.length)
    client.send('}', { fin: true })
    assert.equal(await nextError(client), 'invalid_json')
    assert.equal(bodies.heldBytes, 0)
  })

  test('frame without room in the budget – an error, and the connection is closed', async (t) => {
    const { open, bodies } = await listen(t, {})
    bodies.reserve('acc_1', 1000, 1000)
    const client = await open()
    const closed = once(client, 'close')
    client.send('x'.repeat(900))
    assert.equal(await nextError(client), 'rate_limit_exceeded')
    assert.equal(((await closed) as [number])[0], 1013)
  })
})
