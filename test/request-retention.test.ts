/** Rows of single requests are deleted when they are too old, and all that was made of them is kept. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { question } from './support/server/account.ts'
import type { Fields, List } from './contract.ts'
import { openHouse } from './support/server/test-server.ts'
import { saying } from './support/upstream/scripted-responses.ts'

const dayMs = 86_400_000
const preload = new URL('other-clock.fixture.ts', import.meta.url).href
const env = { NODE_OPTIONS: `--import=${preload}` }

test('requests older than REQUEST_RETENTION are deleted, and balances, charges, sums and the ledger stay', async (t) => {
  const house = await openHouse(t, { env })
  const upstream = await house.upstream(saying('Hello!', { input: 10, output: 500 }))
  await house.model('m', { upstreams: [upstream], prices: ['0.002', '0.008'] })
  const caller = await house.account({ balance: '1' })
  for (let count = 0; count < 3; count += 1) await (await caller.post(question('m'))).text()
  const usage = (): Promise<List> => house.admin<List>('GET', `/usage?group=account&account=${caller.id}`)
  const movements = async (): Promise<Fields[]> =>
    (await house.admin<List>('GET', `/accounts/${caller.id}/entries`)).data

  await house.restart({ CLOCK_AHEAD_MS: String(50 * dayMs) })
  await (await caller.post(question('m'))).text()
  await house.nothingHeld()
  const [kept] = await house.requests()
  const expected = [await caller.balance(), await usage(), await movements()]

  await house.restart({ CLOCK_AHEAD_MS: String(100 * dayMs), REQUEST_RETENTION: '90d' })
  while ((await house.requests()).length > 1) await delay(20)
  assert.deepEqual(await house.requests(), [kept])
  assert.deepEqual([await caller.balance(), await usage(), await movements()], expected)
  assert.equal((await house.verify()).ok, true)
  await (await caller.post(question('m'))).text()
  assert.equal((await house.requests()).length, 2)
  await house.nothingHeld()

  await house.restart({ CLOCK_AHEAD_MS: String(100 * dayMs) })
  assert.equal((await house.requests()).length, 2)
  await house.nothingHeld()
})
