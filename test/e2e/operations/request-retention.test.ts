// @backend both
/** Old request records are deleted, and everything derived from them is kept. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { chatRequest } from '../../support/server/account.ts'
import type { JsonObject, List } from '../../support/client/admin-api.ts'
import { startTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

const dayMs = 86_400_000
const preload = new URL('../../support/server/preload/shifted-clock.ts', import.meta.url).href
const env = { NODE_OPTIONS: `--import=${preload}` }

describe('Request retention', () => {
  test('REQUEST_RETENTION – deletes old records; balances, charges, usage and the ledger stay', async (t) => {
    const server = await startTestServer(t, { env })
    const upstream = await server.upstream(respondWith('Hello!', { input: 10, output: 500 }))
    await server.model('m', { upstreams: [upstream], prices: ['0.002', '0.008'] })
    const caller = await server.account({ balance: '1' })
    for (let count = 0; count < 3; count += 1) await (await caller.post(chatRequest('m'))).text()
    const usage = (): Promise<List> => server.admin<List>('GET', `/usage?group=account&account=${caller.id}`)
    const listEntries = async (): Promise<JsonObject[]> =>
      (await server.admin<List>('GET', `/accounts/${caller.id}/entries`)).data

    await server.restart({ CLOCK_AHEAD_MS: String(50 * dayMs) })
    await (await caller.post(chatRequest('m'))).text()
    await server.assertNoOpenHolds()
    const [recent] = await server.requests()
    const expected = [await caller.balance(), await usage(), await listEntries()]

    await server.restart({ CLOCK_AHEAD_MS: String(100 * dayMs), REQUEST_RETENTION: '90d' })
    await waitUntil(async () => (await server.requests()).length === 1, 'the deletion')
    assert.deepEqual(await server.requests(), [recent])
    assert.deepEqual([await caller.balance(), await usage(), await listEntries()], expected)
    assert.equal((await server.verify()).ok, true)
    await (await caller.post(chatRequest('m'))).text()
    assert.equal((await server.requests()).length, 2)
    await server.assertNoOpenHolds()

    await server.restart({ CLOCK_AHEAD_MS: String(100 * dayMs) })
    assert.equal((await server.requests()).length, 2)
    await server.assertNoOpenHolds()
  })
})
