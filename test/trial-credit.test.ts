/** Trial credit: once for each mailbox, also where many ask at once or a crash comes between, and its end. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAccount } from '../src/accounts/accounts.ts'
import { mailboxOf } from '../src/accounts/fields.ts'
import { runningPromotion } from '../src/ledger/credits/promotions.ts'
import { grantRows } from '../src/ledger/credits/trial-grants.ts'
import { Account, question } from './support/server/account.ts'
import { eventually } from './support/client/responses.ts'
import { answered, refused, type List } from './contract.ts'
import { openHouse, type House } from './support/server/test-server.ts'
import { open, promote, type Opened } from './promotions.ts'
import { saying } from './support/upstream/scripted-responses.ts'
import { openDatabaseOf, tamperWith } from './support/server/database-access.ts'

test('a mailbox gets it once, ever: however its address is written, and whatever became of the account', async (t) => {
  const house = await openHouse(t)
  await promote(house)
  const first = await open(house, 'ann.lee@gmail.com')
  for (const email of ['annlee+2@gmail.com', 'ANN.L.EE@googlemail.com']) {
    const again = await open(house, email)
    assert.deepEqual([again.balance, again.trial_credit?.['reason']], ['0', 'granted_before'], email)
  }
  await answered(house, 200, ['PATCH', `/accounts/${first.id}`, { email: 'gone@example.com' }])
  const anew = await open(house, 'ann.lee@gmail.com')
  assert.deepEqual([anew.balance, anew.trial_credit?.['reason']], ['0', 'granted_before'])
  assert.equal(await refused(house, 409, ['POST', '/accounts', { email: 'gone@example.com' }]), 'email')
  await house.nothingHeld()
})

test('fifty at once with one mailbox get it once, and fifty mailboxes share what there is room for', async (t) => {
  const house = await openHouse(t, { env: { WORKERS: '2' } })
  const promotion = await promote(house, { max_grants: 20 })
  const many = (emailOf: (index: number) => string): Promise<Opened[]> =>
    Promise.all(Array.from({ length: 50 }, (_, index) => open(house, emailOf(index))))
  const one = await many((index) => `someone+${index}@example.com`)
  assert.equal(one.filter(({ balance }) => balance === '5').length, 1)
  assert.equal(one.filter((each) => each.trial_credit?.['reason'] === 'granted_before').length, 49)
  const all = await many((index) => `person-${index}@example.com`)
  assert.equal(all.filter(({ balance }) => balance === '5').length, 19)
  assert.equal(all.filter((each) => each.trial_credit?.['reason'] === 'no_promotion').length, 31)
  assert.partialDeepStrictEqual(
    await answered(house, 200, ['GET', `/promotions/${String(promotion['id'])}`]),
    {
      granted: 20,
      state: 'used up',
    },
  )
  const told = await answered<List>(house, 200, ['GET', '/notices?audience=operator'])
  assert.deepEqual(
    told.data.map((notice) => notice['title']),
    ['The promotion “Welcome” is used up'],
  )
  await house.nothingHeld()
})

test('a grant that was written down before a crash is credited at the next start, once', async (t) => {
  const house = await openHouse(t)
  await promote(house)
  await house.kill()
  const store = await openDatabaseOf(house.relay)
  const email = 'crash@example.com'
  const promotion = await runningPromotion(store.db, null, Date.now())
  assert.ok(promotion)
  const { value } = await createAccount(store.db, { email, trial: true }, 'test', (account) =>
    grantRows(promotion, { account, mailbox: mailboxOf(email) }, Date.now()),
  )
  await store.close()
  const account = new Account(house, value.id)
  for (let start = 0; start < 2; start += 1) {
    await house.restart()
    await eventually('the credit', async () => (await account.balance()) === '5' || undefined)
    await house.kill()
  }
  await house.restart()
  assert.equal(await account.balance(), '5')
  assert.equal((await open(house, 'crash+again@example.com')).balance, '0')
  await house.nothingHeld()
})

/** Lets the time of every trial be over. */
async function endTrials(house: House): Promise<void> {
  await house.kill()
  await tamperWith(house.relay, 'update trial_grants set expires_at = 1')
  await house.restart()
}

test('at its end what is left of a trial credit is taken back; it was spent before any other money', async (t) => {
  const house = await openHouse(t)
  const up = await house.upstream(saying('Hello!', { input: 1_000_000, output: 0 }))
  await house.model('m', { upstreams: [up], prices: ['0.002', '0.002'], context_tokens: 2_000_000 })
  await promote(house, { credit_days: 30 })
  const people = new Map<string, Account>()
  for (const [name, calls] of Object.entries({ unspent: 1, paid: 2, spent: 3 })) {
    const { id, trial_credit: trial } = await open(house, `${name}@example.com`, { tier: 'enterprise' })
    const days = (Date.parse(String(trial?.['expires_at'])) - Date.now()) / 86_400_000
    assert.ok(days > 29.9 && days <= 30, `${days}`)
    const account = new Account(house, id)
    people.set(name, account)
    await account.newKey()
    if (name !== 'unspent') await account.credit('10')
    for (let call = 0; call < calls; call += 1) assert.equal((await account.post(question('m'))).status, 200)
  }
  await endTrials(house)
  const balances: Record<string, string> = { unspent: '0', paid: '10', spent: '9' }
  for (const [name, balance] of Object.entries(balances)) {
    const account = people.get(name)
    await eventually(`${name} ends`, async () => (await account?.balance()) === balance || undefined)
  }
  await endTrials(house)
  for (const [name, balance] of Object.entries(balances))
    assert.equal(await people.get(name)?.balance(), balance)
  const { data } = await answered<List>(house, 200, [
    'GET',
    `/accounts/${people.get('unspent')?.id}/entries?limit=1`,
  ])
  assert.partialDeepStrictEqual(data, [
    { source: 'trial', amount: '-3', reason: 'The trial credit has ended' },
  ])
  const notices = await answered<List>(house, 200, ['GET', `/notices?account=${people.get('unspent')?.id}`])
  assert.ok(notices.data.some((notice) => notice['code'] === 'trial_ended'))
  await house.nothingHeld()
})
