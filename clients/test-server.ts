/**
 * The test server for official clients: a relay with scripted upstreams, one model for each behavior, and three accounts:
 * with a balance, without one, and with a key limited to ten tokens per minute.
 */
import type { TestContext } from 'node:test'

import type { Account } from '../test/support/server/account.ts'
import { startTestServer } from '../test/support/server/test-server.ts'
import type { TestServer, RegisteredUpstream } from '../test/support/server/test-server.ts'
import { failAfter, neverRespond, truncateAfter } from '../test/support/upstream/fault-injection.ts'
import {
  respondEndlessly,
  respondWithError,
  respondWith,
  respondWithDeltas,
} from '../test/support/upstream/scripted-responses.ts'

export const usage = { input: 1000, output: 100 }

/** The time in which an upstream must see that a client has left: a second, on a machine ten times slower. */
export const maxDisconnectMs = 10_000

export const toolCalls = [
  { id: 'call_paris', name: 'weather', arguments: '{"city":"Paris","days":3}' },
  { id: 'call_oslo', name: 'weather', arguments: '{"city":"Oslo","days":5}' },
]

export const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, people: { type: 'integer' } },
  required: ['city', 'people'],
  additionalProperties: false,
}

/** One red pixel. */
export const image =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='

export interface ClientTestServer {
  readonly server: TestServer
  /** Serves the models that succeed: `plain`, `tools`, `schema`. */
  readonly upstream: RegisteredUpstream
  /** Serves `endless` and `mute`, for clients that disconnect. */
  readonly hanging: RegisteredUpstream
  /** Serves `busy`, which `rateLimitOnce` makes fail once. */
  readonly busy: RegisteredUpstream
  readonly rich: Account
  readonly poor: Account
  readonly limited: Account
}

export async function startClientTestServer(t: TestContext): Promise<ClientTestServer> {
  const server = await startTestServer(t)
  const upstream = await server.upstream(respondWith('Hello, world!', usage))
  upstream.forModel('tools', respondWith('', usage, { toolCalls }))
  upstream.forModel('schema', respondWith('{"city":"Paris","people":2100000}', usage))
  const hanging = await server.upstream(respondEndlessly())
  hanging.forModel('mute', neverRespond)
  const busy = await server.upstream(respondWith('Hello again!', usage))
  const broken = await server.upstream(
    failAfter(4, { message: 'The model broke.', code: 'broken' }, respondWithDeltas(9)),
  )
  const cut = await server.upstream(truncateAfter(4, 'end', respondWithDeltas(9)))

  for (const id of ['plain', 'tools', 'schema']) await server.model(id, { upstreams: [upstream] })
  for (const id of ['endless', 'mute']) await server.model(id, { upstreams: [hanging] })
  await server.model('busy', { upstreams: [busy] })
  await server.model('broken', { upstreams: [broken] })
  await server.model('cut', { upstreams: [cut] })
  return {
    server,
    upstream,
    hanging,
    busy,
    rich: await server.account({ balance: '¥10' }),
    poor: await server.account(),
    limited: await server.account({ balance: '¥1', key: { limits: { tpm: 10 } } }),
  }
}

/** Makes the upstream of `busy` reject its next request with 429. */
export function rateLimitOnce(context: ClientTestServer): void {
  context.busy.next(respondWithError(429, undefined, { 'retry-after': '1' }))
}
