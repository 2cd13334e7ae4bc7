// @backend both
/** Trial credit: granted once for each mailbox, also under concurrency and after a crash, and its expiry. */
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { createAccount } from '../../../src/accounts/accounts.ts'
import { mailboxOf } from '../../../src/accounts/fields.ts'
import { billingEndpoints } from '../../../src/http/console/billing/billing.ts'
import { runningPromotion } from '../../../src/ledger/credits/promotions.ts'
import { grantStatements } from '../../../src/ledger/credits/trial-grants.ts'
import { Account, chatRequest } from '../../support/server/account.ts'
import {
  type JsonObject,
  type List,
  type OpenedAccount,
  createPromotion,
  expectError,
  expectResponse,
  openTrialAccount,
} from '../../support/client/admin-api.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'
import { signUpCustomer } from '../../support/console/console-session.ts'
import { openDatabase, executeSql } from '../../support/server/database-access.ts'
import { waitUntil } from '../../support/wait.ts'

const server = await sharedTestServer({ env: { WORKERS: '2', SIGN_UP: 'open' } })

/** Creates a promotion that runs until the end of the test. */
async function startPromotion(t: TestContext, fields: object = {}): Promise<JsonObject> {
  const promotion = await createPromotion(server, fields)
  t.after(() => server.admin('PATCH', `/promotions/${String(promotion['id'])}`, { status: 'paused' }))
  return promotion
}

/** Expires every trial credit. */
async function expireTrials(): Promise<void> {
  await server.kill()
  await executeSql(server.relay, 'update trial_grants set expires_at = 1')
  await server.restart()
}

describe('Trial credit', () => {
  test('Mailbox – gets trial credit once, however its address is written', async (t) => {
    await startPromotion(t)
    const first = await openTrialAccount(server, 'ann.lee@gmail.com')
    for (const email of ['annlee+2@gmail.com', 'ANN.L.EE@googlemail.com']) {
      const again = await openTrialAccount(server, email)
      assert.deepEqual([again.balance, again.trial_credit?.['reason']], ['0', 'granted_before'], email)
    }
    await expectResponse(server, 200, ['PATCH', `/accounts/${first.id}`, { email: 'gone@example.com' }])
    const later = await openTrialAccount(server, 'ann.lee@gmail.com')
    assert.deepEqual([later.balance, later.trial_credit?.['reason']], ['0', 'granted_before'])
    assert.equal(
      await expectError(server, 409, ['POST', '/accounts', { email: 'gone@example.com' }]),
      'email',
    )
  })

  test('Sign-up without e-mail verification – gets no trial credit', async (t) => {
    await startPromotion(t)
    const session = await signUpCustomer(server, 'made-up@example.com')
    assert.equal((await session.call(billingEndpoints.wallet)).balance, '0')
    // The mailbox still has its grant, for an operator to give.
    assert.equal((await openTrialAccount(server, 'made-up+1@example.com')).balance, '5')
  })

  test('50 concurrent requests of one mailbox – get one grant; 50 mailboxes share max_grants', async (t) => {
    const promotion = await startPromotion(t, { max_grants: 20 })
    const openMany = (emailOf: (index: number) => string): Promise<OpenedAccount[]> =>
      Promise.all(Array.from({ length: 50 }, (_, index) => openTrialAccount(server, emailOf(index))))
    const sameMailbox = await openMany((index) => `someone+${index}@example.com`)
    assert.equal(sameMailbox.filter(({ balance }) => balance === '5').length, 1)
    assert.equal(sameMailbox.filter((each) => each.trial_credit?.['reason'] === 'granted_before').length, 49)
    const distinctMailboxes = await openMany((index) => `person-${index}@example.com`)
    assert.equal(distinctMailboxes.filter(({ balance }) => balance === '5').length, 19)
    assert.equal(
      distinctMailboxes.filter((each) => each.trial_credit?.['reason'] === 'no_promotion').length,
      31,
    )
    assert.partialDeepStrictEqual(
      await expectResponse(server, 200, ['GET', `/promotions/${String(promotion['id'])}`]),
      {
        granted: 20,
        state: 'used up',
      },
    )
    const notifications = await expectResponse<List>(server, 200, ['GET', '/notices?audience=operator'])
    assert.deepEqual(
      notifications.data.map((notification) => notification['title']),
      ['The promotion “Welcome” is used up'],
    )
  })

  test('Grant recorded before a crash – is credited once at the next start', async (t) => {
    await startPromotion(t)
    await server.kill()
    const store = await openDatabase(server.relay)
    const email = 'crash@example.com'
    const promotion = await runningPromotion(store.db, null, Date.now())
    assert.ok(promotion)
    const { value } = await createAccount(store.db, { email, trial: true }, 'test', (account) =>
      grantStatements(promotion, { account, mailbox: mailboxOf(email) }, Date.now()),
    )
    await store.close()
    const account = new Account(server, value.id)
    await server.restart()
    await waitUntil(async () => (await account.balance()) === '5', 'the credit')
    await server.kill()
    await server.restart()
    assert.equal(await account.balance(), '5')
    assert.equal((await openTrialAccount(server, 'crash+again@example.com')).balance, '0')
  })

  test('Expired trial credit – the unspent rest is taken back; it is spent before other money', async (t) => {
    const upstream = await server.upstream(respondWith('Hello!', { input: 0, output: 0 }))
    const prices = { input: '0', output: '0', per_request: '2' }
    await server.model('m', { upstreams: [upstream], prices })
    await startPromotion(t, { credit_days: 30 })
    const accounts = new Map<string, Account>()
    for (const [name, calls] of Object.entries({ unspent: 1, paid: 2, spent: 3 })) {
      const { id, trial_credit: trial } = await openTrialAccount(server, `${name}@example.com`, {
        tier: 'enterprise',
      })
      const days = (Date.parse(String(trial?.['expires_at'])) - Date.now()) / 86_400_000
      assert.ok(days > 29.9 && days <= 30, `${days}`)
      const account = new Account(server, id)
      accounts.set(name, account)
      await account.newKey()
      if (name !== 'unspent') await account.credit('10')
      for (let call = 0; call < calls; call += 1)
        assert.equal((await account.post(chatRequest('m'))).status, 200)
    }
    await expireTrials()
    const balances: Record<string, string> = { unspent: '0', paid: '10', spent: '9' }
    for (const [name, balance] of Object.entries(balances)) {
      const account = accounts.get(name)
      await waitUntil(
        async () => (await account?.balance()) === balance,
        `the end of the trial credit of ${name}`,
      )
    }
    await expireTrials()
    for (const [name, balance] of Object.entries(balances))
      assert.equal(await accounts.get(name)?.balance(), balance)
    const { data } = await expectResponse<List>(server, 200, [
      'GET',
      `/accounts/${accounts.get('unspent')?.id}/entries?limit=1`,
    ])
    assert.partialDeepStrictEqual(data, [
      { source: 'trial', amount: '-3', reason: 'The trial credit has ended' },
    ])
    const notifications = await expectResponse<List>(server, 200, [
      'GET',
      `/notices?account=${accounts.get('unspent')?.id}`,
    ])
    assert.ok(notifications.data.some((notification) => notification['code'] === 'trial_ended'))
  })
})
