import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { EntryRow } from '../../db/ledger-commit.ts'
import { createLedgerCommit, openAnyStore } from '../../db/store.fixture.ts'
import type { Db } from '../../db/db.ts'
import { entryRowsOf } from '../entries.ts'
import type { CreditKind } from '../events.ts'
import { insertAccounts } from './accounts.fixture.ts'
import {
  accountsMissingFirstPayment,
  countsAsLastCredit,
  countsAsPayment,
  lastCreditOf,
} from './counted-credits.ts'

const account = 'acc_a'

type CreditLine = readonly [id: string, source: CreditKind, amount: bigint]

const entriesOf = ([id, source, amount]: CreditLine): EntryRow[] =>
  entryRowsOf({ kind: 'credited', id, at: 1, account, amount, source, reason: 'a test' }, account)

/** A database with an account that has these credits. */
async function openWith(t: TestContext, ...lines: readonly CreditLine[]): Promise<Db> {
  const { db, commit } = await openAnyStore(t)
  await insertAccounts(db, account)
  await commit(createLedgerCommit(1, { entries: lines.flatMap(entriesOf) }))
  return db
}

const notCounted: readonly CreditLine[] = [
  ['bonus:S1', 'bonus', 10n],
  ['payback:r0', 'payment', 0n],
  ['payback:r1', 'payment', -30n],
  ['payback-bonus:r1', 'bonus', -3n],
  ['payback-undone:r1', 'payment', 30n],
  ['payback-bonus-undone:r1', 'bonus', 3n],
  ['credit:acc_a:correction', 'payment', -5n],
]

describe('counted credits', () => {
  test('a bonus, a debit and a payback that is given back – are neither last credit nor payment', async (t) => {
    for (const [id, source, amount] of notCounted) {
      assert.equal(countsAsLastCredit({ id, source, amount }), false, id)
      assert.equal(countsAsPayment({ id, source, amount }), false, id)
    }
    const db = await openWith(t, ...notCounted)
    assert.equal(await lastCreditOf(db, account), undefined)
    assert.deepEqual(await accountsMissingFirstPayment(db), [])
  })

  test('a payment before them – stays the last credit, and is the first payment', async (t) => {
    const payment = { id: 'payment:alipay:m:1', source: 'payment', amount: 100n } as const
    assert.ok(countsAsLastCredit(payment) && countsAsPayment(payment))
    const db = await openWith(t, [payment.id, payment.source, payment.amount], ...notCounted)
    assert.deepEqual(await lastCreditOf(db, account), { ref: payment.id, nanos: 100n })
    assert.deepEqual(await accountsMissingFirstPayment(db), [account])
  })

  test('a refund of a request – is no last credit; a trial credit is, and no payment', async (t) => {
    const db = await openWith(t, ['trial:acc_a', 'trial', 5n], ['refund:req:1', 'refund', 1n])
    assert.deepEqual(await lastCreditOf(db, account), { ref: 'trial:acc_a', nanos: 5n })
    assert.deepEqual(await accountsMissingFirstPayment(db), [])
  })
})
