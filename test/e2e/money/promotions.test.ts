// @backend both
/** Promotions: which one applies, what the account's response says, and how to request trial credit. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { commandLineFor } from '../../support/server/command-line.ts'
import {
  type List,
  type OpenedAccount,
  createPromotion,
  expectError,
  expectResponse,
  openTrialAccount,
} from '../../support/client/admin-api.ts'
import { sharedTestServer, startTestServer } from '../../support/server/test-server.ts'

const server = await sharedTestServer()

describe('Promotions', () => {
  test('Trial credit – is granted only while a promotion runs, as an entry of the account', async () => {
    const early = await openTrialAccount(server, 'early@example.com')
    assert.deepEqual([early.balance, early.trial_credit?.['reason']], ['0', 'no_promotion'])
    const promotion = await createPromotion(server)
    const later = await openTrialAccount(server, 'later@example.com')
    assert.equal(later.balance, '5')
    assert.deepEqual(later.trial_credit, {
      granted: true,
      amount: '5',
      promotion: promotion['id'],
      expires_at: null,
      reason: null,
    })
    const { data } = await expectResponse<List>(server, 200, ['GET', `/accounts/${later.id}/entries`])
    assert.partialDeepStrictEqual(data, [{ source: 'trial', amount: '5', reason: 'Promotion “Welcome”' }])
    const plain = await expectResponse<OpenedAccount>(server, 201, [
      'POST',
      '/accounts',
      { email: 'plain@example.com' },
    ])
    assert.deepEqual([plain.balance, plain.trial_credit], ['0', undefined])
    await expectResponse(server, 200, [
      'PATCH',
      `/promotions/${String(promotion['id'])}`,
      { status: 'paused' },
    ])
    assert.equal((await openTrialAccount(server, 'paused@example.com')).balance, '0')
  })

  test('Several promotions – the latest to start applies; one with a code applies by its code', async () => {
    await createPromotion(server, { amount: '1', starts_at: '2026-01-01T00:00:00Z' })
    await createPromotion(server, { amount: '2', starts_at: '2026-02-01T00:00:00Z' })
    await createPromotion(server, { amount: '3', starts_at: '2099-01-01T00:00:00Z' })
    await createPromotion(server, {
      amount: '4',
      starts_at: '2025-01-01T00:00:00Z',
      ends_at: '2025-02-01T00:00:00Z',
    })
    await createPromotion(server, { amount: '9', code: 'FAIR-2026' })
    assert.equal((await openTrialAccount(server, 'a@example.com')).balance, '2')
    assert.equal((await openTrialAccount(server, 'b@example.com', { promotion: 'FAIR-2026' })).balance, '9')
    const unknown = await openTrialAccount(server, 'c@example.com', { promotion: 'fair-2027' })
    assert.deepEqual([unknown.balance, unknown.trial_credit?.['reason']], ['0', 'no_promotion'])
    const first = await expectResponse<List>(server, 200, ['GET', '/promotions?limit=3'])
    const rest = await expectResponse<List>(server, 200, ['GET', `/promotions?limit=3&cursor=${first.next}`])
    assert.deepEqual(
      [...first.data, ...rest.data].slice(0, 5).map((each) => each['state']),
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
      assert.equal(await expectError(server, 400, ['POST', '/promotions', body]), param)
    }
    assert.equal(
      await expectError(server, 409, ['POST', '/promotions', { name: 'x', amount: '1', code: 'FAIR-2026' }]),
      'code',
    )
    await expectError(server, 404, ['PATCH', '/promotions/pro_none', { name: 'x' }])
  })

  test('account create --trial – reports the outcome, with the relay running or stopped', async (t) => {
    const stoppable = await startTestServer(t)
    const sluice = commandLineFor(stoppable.relay)
    const createWithTrial = (email: string) => sluice.output(['account', 'create', email, '--trial'])
    assert.match(await createWithTrial('early@example.com'), /no promotion is running/)
    await createPromotion(stoppable)
    assert.match(await createWithTrial('one@example.com'), /It got a trial credit of 5/)
    await stoppable.stop()
    assert.match(await createWithTrial('two@example.com'), /It got a trial credit of 5/)
    assert.match(await createWithTrial('one+more@example.com'), /its mailbox has had one before/)
    const payment = [
      'account',
      'credit',
      'two@example.com',
      '3',
      '--reason',
      'an invoice',
      '--kind',
      'payment',
    ]
    assert.match(await sluice.output(payment), /The balance is 8/)
    assert.partialDeepStrictEqual(await sluice.json(['account', 'show', 'two@example.com']), {
      tier: 'standard',
    })
  })
})
