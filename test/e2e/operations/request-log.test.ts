// @backend both
/** The log lines of requests. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { chatRequest } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

const server = await sharedTestServer()

describe('Request log', () => {
  test('Request line – names the worker and, in a cluster only, the node', async () => {
    const upstream = await server.upstream(respondWith('Hi!'))
    await server.model('m', { upstreams: [upstream] })
    const account = await server.account({ balance: '1' })
    const response = await account.post(chatRequest('m'))
    await response.arrayBuffer()
    const findLine = (): string | undefined => server.log.find((line) => line.includes('"msg":"request"'))
    await waitUntil(() => findLine() !== undefined)
    const { node, worker } = JSON.parse(findLine() ?? '') as { node?: string; worker: number }
    assert.equal(worker, 1)
    const { data } = await server.admin<{ data: { id: string; self: boolean; address: string }[] }>(
      'GET',
      '/nodes',
    )
    assert.deepEqual(
      data.map(({ id, self, address }) => ({ id, self, address })),
      node === undefined ? [] : [{ id: node, self: true, address: `127.0.0.1:${server.relay.port}` }],
    )
    assert.equal(node === undefined, server.relay.databaseUrl === undefined)
  })
})
