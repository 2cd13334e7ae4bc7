/** Upstreams that are checked when nobody asks them: trouble is known before a caller meets it, and so is its end. */

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { nanosOf } from '../src/lib/money.ts'
import { question } from './support/server/account.ts'
import { eventually } from './support/client/responses.ts'
import { shareHouse } from './support/server/test-server.ts'
import { failing, saying } from './support/upstream/scripted-responses.ts'
import { healthOf } from './support/server/upstream-health.ts'

const house = await shareHouse()
const well = saying('OK', { input: 10, output: 2 })

test('an idle upstream is checked, its failure and its return are noticed without a caller, and the cost is the operator’s', async () => {
  const account = await house.account({ balance: '¥1' })
  const checked = await house.upstream(well, {
    health_check_ms: 1000,
    prices: { input: '0.1', output: '0.1' },
  })
  const other = await house.upstream(well)
  await house.model('checked', { upstreams: [checked, other] })
  assert.equal((await checked.sawRequest()).json['max_tokens'], 16)
  const found = await eventually(
    'the record of a check',
    async () => (await house.requests({ key: 'health-check' }))[0],
  )
  assert.deepEqual([found.account, found.outcome, found.upstream], ['operator', 'ok', checked.id])
  assert.equal(Number(found.cost), 0)
  assert.equal(nanosOf(found.attempts[0]?.cost ?? ''), nanosOf('0.0012'))
  const usage = await house.admin<{ data: { account: string; upstream_cost: string; margin: string }[] }>(
    'GET',
    '/usage?group=account&account=operator',
  )
  assert.ok(nanosOf(usage.data[0]?.upstream_cost ?? '0') >= nanosOf('0.0012'))

  checked.always(failing(401))
  await eventually('the credential to be found out', async () => {
    const { state } = await healthOf(house, checked.id)
    return state === 'closed' ? undefined : true
  })
  const before = checked.requests.length
  for (let count = 0; count < 5; count += 1) {
    const reply = await account.post(question('checked'))
    assert.match(await reply.text(), /OK/)
    assert.deepEqual(
      (await account.requests())[0]?.attempts.map(({ upstream }) => upstream),
      [other.id],
    )
  }
  const checks = checked.requests.slice(before)
  assert.ok(
    checks.every(({ text }) => text.includes('Answer with OK.')),
    'callers were never its probe',
  )

  checked.always(well)
  await eventually(
    'its return',
    async () => (await healthOf(house, checked.id)).state === 'closed' || undefined,
  )
})

test('an upstream that is asked for no checks gets none, and one that is busy needs none', async () => {
  const account = await house.account({ balance: '¥1' })
  const busy = await house.upstream(well, { health_check_ms: 1000 })
  const plain = await house.upstream(well)
  await house.model('busy', { upstreams: [busy] })
  await house.model('plain', { upstreams: [plain] })
  const end = performance.now() + 2500
  while (performance.now() < end) {
    const reply = await account.post(question('busy'))
    await reply.arrayBuffer()
  }
  const checks = busy.requests.filter(({ text }) => text.includes('Answer with OK.'))
  assert.ok(checks.length <= 1, `${checks.length} checks beside ${busy.requests.length} requests`)
  assert.equal(plain.requests.length, 0)
})

test('an interval out of bounds is refused with its name', async () => {
  const upstream = await house.upstream(well)
  const path = `/upstreams/${upstream.id}`
  await assert.rejects(house.admin('PATCH', path, { health_check_ms: 10 }), /health_check_ms/)
  const set = await house.admin<{ health_check_ms: number | null }>('PATCH', path, {
    health_check_ms: 60_000,
  })
  assert.equal(set.health_check_ms, 60_000)
  const unset = await house.admin<{ health_check_ms: number | null }>('PATCH', path, {
    health_check_ms: null,
  })
  assert.equal(unset.health_check_ms, null)
})
