import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { copyLedger, stores, tamper } from './served-ledger.fixture.ts'
import { verifyInThread } from './verify-thread.ts'

let entryCount = 0

/** An entry of a credit; a negative amount: one that takes it back. */
function entry(ref: string, nanos: number, source = 'payment'): string {
  entryCount += 1
  const books = nanos < 0 ? `'account:acc', 'operator:funding'` : `'operator:funding', 'account:acc'`
  return `insert into entries (id, seq, at, debit, credit, amount_nanos, kind, account_id, ref, reason, source)
    values (${1_000_000 + entryCount}, 1, 0, ${books}, ${Math.abs(nanos)}, 'credit', 'acc', '${ref}', 'a test', '${source}')`
}

const payment = (transaction: string, order: string, credit: number, bonus: number): string =>
  `insert into payments (method, merchant, transaction_id, order_id, account_id, currency, amount_minor, credit_nanos,
    bonus_nanos, payer, paid_at, settled_at, settled_by)
  values ('stripe', 'test', '${transaction}', '${order}', 'acc', 'CNY', 1000, ${credit}, ${bonus}, null, 1, 1, 'notice')`

const refund = (
  id: string,
  state: string,
  payback: readonly [number, number],
  nextCheckAt = 'null',
): string =>
  `insert into payment_refunds (id, order_id, account_id, state, amount_minor, payment_nanos, bonus_nanos, reason,
    requested_by, decided_by, reference, problem, next_check_at, checks, created_at, updated_at)
  values ('${id}', 'S1', 'acc', '${state}', 100, ${payback[0]}, ${payback[1]}, 'unused', 'a', null, null, null,
    ${nextCheckAt}, 0, 1, 1)`

const dispute = (reference: string, state: string, nanos: number): string =>
  `insert into payment_disputes (method, reference, order_id, account_id, state, amount_minor, payment_nanos, bonus_nanos,
    receivable_nanos, created_at, updated_at)
  values ('stripe', '${reference}', 'S1', 'acc', '${state}', 100, ${nanos}, 0, 5, 1, 1)`

const creditOrder = (id: string, nanos: number): string =>
  `insert into credit_orders (id, account_id, amount_nanos, source, reason, created_at, entered_at)
  values ('${id}', 'acc', ${nanos}, 'payment', 'a test', 1, null)`

/** Every state in which payments can be, each with its entries. */
const consistent = [
  payment('pi_1', 'S1', 100, 20),
  entry('payment:stripe:test:pi_1', 100),
  entry('bonus:S1', 20, 'bonus'),
  // Crashed before the credit was entered.
  payment('pi_2', 'S2', 50, 0),
  creditOrder('payment:stripe:test:pi_2', 50),
  // Credited by an operator's decision.
  `insert into payment_differences (id, kind, method, merchant, reference, currency, detail, state, at, found_at, action)
    values ('dif_1', 'surplus', 'stripe', 'test', 'pi_3', 'CNY', '', 'resolved', 1, 1, 'credit')`,
  entry('payment:stripe:test:pi_3', 30),
  refund('S1R1', 'done', [10, 2]),
  entry('payback:S1R1', -10),
  entry('payback-bonus:S1R1', -2, 'bonus'),
  refund('S1R2', 'failed', [5, 1]),
  ...['payback:S1R2', 'payback-undone:S1R2'].map((ref) => entry(ref, ref.includes('undone') ? 5 : -5)),
  ...['payback-bonus:S1R2', 'payback-bonus-undone:S1R2'].map((ref) =>
    entry(ref, ref.includes('undone') ? 1 : -1, 'bonus'),
  ),
  // The balance was spent before it was taken.
  refund('S1R3', 'refused', [7, 0]),
  // Crashed before it was taken, and before it was given back.
  refund('S1R4', 'requested', [4, 0], '9'),
  refund('S1R5', 'refused', [3, 0], '9'),
  entry('payback:S1R5', -3),
  refund('S1R6', 'unknown', [6, 0]),
  entry('payback:S1R6', -6),
  dispute('dp_1', 'open', 8),
  entry('payback:dispute:stripe:dp_1', -8),
  // Nothing was there to take.
  dispute('dp_2', 'lost', 0),
  entry('payback:dispute:stripe:dp_2', 0),
  dispute('dp_3', 'won', 9),
  entry('payback:dispute:stripe:dp_3', -9),
  entry('payback-undone:dispute:stripe:dp_3', 9),
]

interface Tampering {
  readonly statement: string
  readonly finding: RegExp
  readonly drift: bigint
}

const tamperings: Record<string, Tampering> = {
  'a payment with another credit': {
    statement: `update payments set credit_nanos = 101 where transaction_id = 'pi_1'`,
    finding: /credit payment:stripe:test:pi_1 and its payment differ: 100 nanos in the ledger, 101 stated/,
    drift: 1n,
  },
  'a payment with another bonus': {
    statement: `update payments set bonus_nanos = 25 where transaction_id = 'pi_1'`,
    finding: /credit bonus:S1 and its payment differ: 20 nanos in the ledger, 25 stated/,
    drift: 5n,
  },
  'a payment of another account': {
    statement: `update payments set account_id = 'other' where transaction_id = 'pi_1' and bonus_nanos = 20`,
    finding: /payment:stripe:test:pi_1/,
    drift: 0n,
  },
  'a payment that nobody made': {
    statement: payment('pi_9', 'S9', 77, 0),
    finding: /credit payment:stripe:test:pi_9 and its payment differ: 0 nanos in the ledger, 77 stated/,
    drift: 77n,
  },
  'a deleted payment': {
    statement: `delete from payments where transaction_id = 'pi_1'`,
    finding: /credit payment:stripe:test:pi_1 and its payment differ: 100 nanos in the ledger, 0 stated/,
    drift: 120n,
  },
  'an order of a credit that was marked as entered': {
    statement: `update credit_orders set entered_at = 1 where id = 'payment:stripe:test:pi_2'`,
    finding: /payment:stripe:test:pi_2 and its payment differ: 0 nanos in the ledger, 50 stated/,
    drift: 50n,
  },
  'a credit without a payment': {
    statement: entry('payment:stripe:test:pi_8', 40),
    finding: /payment:stripe:test:pi_8 and its payment differ: 40 nanos in the ledger, 0 stated/,
    drift: 40n,
  },
  'a refund that took less than it states': {
    statement: `update payment_refunds set payment_nanos = 12 where id = 'S1R1'`,
    finding: /entries of payback S1R1 and its row differ: 10 nanos in the ledger, 12 stated/,
    drift: 2n,
  },
  'a refund that took nothing': {
    statement: refund('S1R8', 'done', [11, 0]),
    finding: /entries of payback S1R8 and its row differ: 0 nanos in the ledger, 11 stated/,
    drift: 11n,
  },
  'a refund that was done and given back': {
    statement: `update payment_refunds set state = 'done' where id = 'S1R2'`,
    finding: /entries of payback S1R2/,
    drift: 6n,
  },
  'a refund that failed and was not given back': {
    statement: `update payment_refunds set state = 'failed' where id = 'S1R6'`,
    finding: /entries of payback S1R6/,
    drift: 0n,
  },
  'a dispute that took less than it states': {
    statement: `update payment_disputes set payment_nanos = 18 where reference = 'dp_1'`,
    finding: /entries of payback dp_1 and its row differ: 8 nanos in the ledger, 18 stated/,
    drift: 10n,
  },
}

for (const { store, skip, open } of stores) {
  describe(`comparePayments on ${store}`, () => {
    test('payments in every state – agree with their entries', { skip }, async (t) => {
      const ledger = await open(t)
      assert.deepEqual(await ledger.comparePayments(), [])
      await ledger.tamper(...consistent)
      assert.deepEqual(await ledger.comparePayments(), [])
    })

    for (const [name, { statement, finding, drift }] of Object.entries(tamperings)) {
      test(`tampering – finds ${name}`, { skip }, async (t) => {
        const ledger = await open(t)
        await ledger.tamper(...consistent, statement)
        const differences = await ledger.comparePayments()
        assert.match(differences.map(({ message }) => message).join('\n'), finding)
        assert.equal(
          differences.reduce((sum, each) => sum + each.drift, 0n),
          drift,
        )
      })
    }
  })
}

describe('payments in a verification', () => {
  test('verify – reports a payment that the ledger does not have', async (t) => {
    const path = await copyLedger(t)
    tamper(path, payment('pi_1', 'S1', 77, 0))
    const { ok, drift, findings } = await verifyInThread(path)
    assert.deepEqual([ok, drift], [false, 77n])
    assert.match(findings.join('\n'), /payment:stripe:test:pi_1/)
  })

  test('verify – accepts a database without the tables of payments', async (t) => {
    const path = await copyLedger(t)
    tamper(path, 'delete from schema_version where version > 30', 'drop table payments')
    assert.equal((await verifyInThread(path)).ok, true)
  })
})
