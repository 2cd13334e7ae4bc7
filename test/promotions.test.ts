/** Promotions on the whole program: which one counts, what an account is told of it, and how it is asked for. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commandsOf } from './support/server/command-line.ts'
import { answered, refused, type List } from './contract.ts'
import { openHouse } from './support/server/test-server.ts'
import { open, promote, type Opened } from './promotions.ts'

test('without a promotion an account is made without credit and says so; with one it has it as an entry', async (t) => {
  const house = await openHouse(t)
  const early = await open(house, 'early@example.com')
  assert.deepEqual([early.balance, early.trial_credit?.['reason']], ['0', 'no_promotion'])
  const promotion = await promote(house)
  const later = await open(house, 'later@example.com')
  assert.equal(later.balance, '5')
  assert.deepEqual(later.trial_credit, {
    granted: true,
    amount: '5',
    promotion: promotion['id'],
    expires_at: null,
    reason: null,
  })
  const { data } = await answered<List>(house, 200, ['GET', `/accounts/${later.id}/entries`])
  assert.partialDeepStrictEqual(data, [{ source: 'trial', amount: '5', reason: 'Promotion “Welcome”' }])
  const plain = await answered<Opened>(house, 201, ['POST', '/accounts', { email: 'plain@example.com' }])
  assert.deepEqual([plain.balance, plain.trial_credit], ['0', undefined])
  await answered(house, 200, ['PATCH', `/promotions/${String(promotion['id'])}`, { status: 'paused' }])
  assert.equal((await open(house, 'paused@example.com')).balance, '0')
  await house.nothingHeld()
})

test('of several promotions the last to begin counts, and one with a code for whoever names it', async (t) => {
  const house = await openHouse(t)
  await promote(house, { amount: '1', starts_at: '2026-01-01T00:00:00Z' })
  await promote(house, { amount: '2', starts_at: '2026-02-01T00:00:00Z' })
  await promote(house, { amount: '3', starts_at: '2099-01-01T00:00:00Z' })
  await promote(house, { amount: '4', starts_at: '2025-01-01T00:00:00Z', ends_at: '2025-02-01T00:00:00Z' })
  await promote(house, { amount: '9', code: 'FAIR-2026' })
  assert.equal((await open(house, 'a@example.com')).balance, '2')
  assert.equal((await open(house, 'b@example.com', { promotion: 'FAIR-2026' })).balance, '9')
  const wrong = await open(house, 'c@example.com', { promotion: 'fair-2027' })
  assert.deepEqual([wrong.balance, wrong.trial_credit?.['reason']], ['0', 'no_promotion'])
  const first = await answered<List>(house, 200, ['GET', '/promotions?limit=3'])
  const rest = await answered<List>(house, 200, ['GET', `/promotions?limit=3&cursor=${first.next}`])
  assert.deepEqual(
    [...first.data, ...rest.data].map((each) => each['state']),
    ['running', 'ended', 'scheduled', 'running', 'running'],
  )
  for (const [fields, param] of [
    [{ amount: '0' }, 'amount'],
    [{ name: ' ' }, 'name'],
    [{ code: 'two words' }, 'code'],
    [{ starts_at: '2026-02-01T00:00:00Z', ends_at: '2026-01-01T00:00:00Z' }, 'ends_at'],
    [{ max_grants: 0 }, 'max_grants'],
    [{ credit_days: 0 }, 'credit_days'],
  ] as const) {
    const body = { name: 'Welcome', amount: '5', ...fields }
    assert.equal(await refused(house, 400, ['POST', '/promotions', body]), param)
  }
  assert.equal(
    await refused(house, 409, ['POST', '/promotions', { name: 'x', amount: '1', code: 'FAIR-2026' }]),
    'code',
  )
  await refused(house, 404, ['PATCH', '/promotions/pro_none', { name: 'x' }])
  await house.nothingHeld()
})

test('the command line says what came of the wish, with a relay running or not', async (t) => {
  const house = await openHouse(t)
  const sluice = commandsOf(house.relay)
  const made = (email: string) => sluice.output(['account', 'create', email, '--trial'])
  assert.match(await made('early@example.com'), /no promotion runs/)
  await promote(house)
  assert.match(await made('one@example.com'), /5 are credited for trying out/)
  await house.stop()
  assert.match(await made('two@example.com'), /5 are credited for trying out/)
  assert.match(await made('one+more@example.com'), /has had a credit/)
  const paid = ['account', 'credit', 'two@example.com', '3', '--reason', 'an invoice', '--kind', 'payment']
  assert.match(await sluice.output(paid), /the balance is 8/)
  assert.partialDeepStrictEqual(await sluice.json(['account', 'show', 'two@example.com']), {
    tier: 'standard',
  })
})
