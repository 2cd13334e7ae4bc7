/** Accounts that were invited, and rounds of two nodes that decide about them, for tests over both stores. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { readConfig } from '../../config.ts'
import type { Db } from '../../db/db.ts'
import { fieldsOf } from '../../db/row-fields.ts'
import { sql, type AccountsTable } from '../../db/schema/schema.ts'
import { insertAccounts } from '../../ledger/credits/accounts.fixture.ts'
import { creditOrderById } from '../../ledger/credits/credit-orders.ts'
import { accountOwner } from '../../ledger/state.ts'
import { createLog } from '../../lib/log.ts'
import { formatAmount, parseAmount } from '../../lib/money.ts'
import { orderRow } from '../../payments/payment-orders.fixture.ts'
import { insertOrder } from '../../payments/payment-orders.ts'
import { insertDispute, insertRefund } from '../../payments/payment-refunds.ts'
import { insertPayment, type Payment } from '../../payments/payments.ts'
import { referralCodeOf } from '../../payments/referral-codes.ts'
import { insertReferral, recordReferralPayment, recheckReward } from '../../payments/referrals.ts'
import { stores, type OpenedCredits } from '../credits.fixture.ts'
import type { Credits } from '../credits.ts'
import { checkDueReferrals } from './reward-referral.ts'

export const at = 1_790_000_000_000
export const day = 86_400_000
export const cleared = at + 7 * day
const config = readConfig({
  REFERRAL_REWARD_REFERRER: '20',
  REFERRAL_REWARD_INVITED: '10% max 5',
  REFERRAL_MIN_PAYMENT: '10',
  REFERRAL_CLEAR_AFTER: '7d',
  REFERRAL_MAX_MONTH: '60',
})
const log = createLog('silent')

/** The account that invites all others. */
export const ann = 'acc_ann'
const nodes = 2

export const orderOf = (account: string): string => `S_${account}`

export class Referrals {
  readonly db: Db
  readonly #opened: OpenedCredits
  readonly #processes: Credits[]

  private constructor(opened: OpenedCredits, processes: Credits[]) {
    this.#opened = opened
    this.#processes = processes
    this.db = opened.db
  }

  static async open(t: TestContext, open: (typeof stores)[number]['open']): Promise<Referrals> {
    const opened = await open(t)
    // A SQLite database has one process; two of its rounds may still run at the same time.
    const isShared = open === stores[1].open
    const second = isShared ? await opened.another() : opened.credits
    const referrals = new Referrals(opened, [opened.credits, second])
    await referrals.account(ann)
    await referralCodeOf(opened.db, ann)
    return referrals
  }

  async account(id: string, fields: Partial<AccountsTable> = {}): Promise<void> {
    await insertAccounts(this.db, id)
    const row = { email: `${id.slice(4)}@example.com`, ...fields }
    await this.db.write(sql.updateTable('accounts').set(row).where('id', '=', id))
  }

  async pay(account: string, fields: Partial<Payment> = {}): Promise<void> {
    const { orderId = orderOf(account), creditNanos = parseAmount('100'), settledAt = at } = fields
    const shared = { accountId: account, method: 'bank', merchant: 'm', currency: 'CNY' } as const
    const amounts = { amountMinor: 10_000n, creditNanos, bonusNanos: 0n }
    const times = { createdAt: at, paidAt: at } as const
    const order = orderRow({ ...shared, ...amounts, ...times, id: orderId, state: 'paid' })
    const payment: Payment = {
      ...shared,
      ...amounts,
      orderId,
      paidAt: settledAt,
      settledAt,
      settledBy: 'test',
      transactionId: orderId,
      payer: null,
      ...fields,
    }
    await this.db.write(insertOrder(order), insertPayment(payment), ...recordReferralPayment(config, payment))
  }

  /** An account that was invited, and has paid. */
  async invite(
    id: string,
    payment: Partial<Payment> = {},
    fields: Partial<AccountsTable> = {},
  ): Promise<void> {
    await this.account(id, fields)
    await this.db.write(insertReferral({ referrer: ann, invited: id }, at))
    await this.pay(id, payment)
  }

  async refund(account: string, state: 'requested' | 'done'): Promise<string> {
    const orderId = orderOf(account)
    const id = `${orderId}R1`
    const parts = { amountMinor: 1n, paymentNanos: 0n, bonusNanos: 0n, reference: null, problem: null }
    const by = { reason: 'unused', requestedBy: 'test', decidedBy: null }
    const times = { nextCheckAt: null, checks: 0, createdAt: at, updatedAt: at }
    const refund = { id, orderId, accountId: account, state, ...parts, ...by, ...times }
    await this.db.write(insertRefund(refund), recheckReward(orderId, cleared))
    return id
  }

  async dispute(account: string): Promise<void> {
    const orderId = orderOf(account)
    const nanos = { paymentNanos: 0n, bonusNanos: 0n, receivableNanos: 0n }
    const times = { createdAt: at, updatedAt: at }
    const reference = `dp_${account}`
    await this.db.write(
      insertDispute({
        method: 'stripe',
        reference,
        orderId,
        accountId: account,
        state: 'open',
        amountMinor: 1n,
        ...nanos,
        ...times,
      }),
      recheckReward(orderId, cleared),
    )
  }

  /** Rounds of two nodes at the same time. */
  async check(now = cleared): Promise<void> {
    await Promise.all(
      Array.from({ length: nodes }, (_, node) => {
        const credits = this.#processes[node] ?? this.#opened.credits
        const wallet = () => Promise.resolve({ balance: 0n, held: 0n })
        const deps = { config, db: this.db, log, credits, wallet, now: () => now, platformCurrency: 'CNY' }
        const applyCreditOrder = async (id: string): Promise<unknown> => {
          const order = await creditOrderById(this.db, id)
          assert.ok(order)
          const { account, amountNanos: amount, source, reason } = order
          return credits.enterWithId(id, { account, amount, source, reason })
        }
        return checkDueReferrals({ ...deps, applyCreditOrder }, () => false)
      }),
    )
  }

  async of(invited: string) {
    const row = await this.db.first(sql.selectFrom('referrals').selectAll().where('invited_id', '=', invited))
    assert.ok(row)
    return fieldsOf(row)
  }

  async stateOf(invited: string): Promise<readonly [string, string | null]> {
    const { state, reason } = await this.of(invited)
    return [state, reason]
  }

  async balance(account: string): Promise<string> {
    const query = sql.selectFrom('owners').select('balance_nanos').where('id', '=', accountOwner(account))
    return formatAmount((await this.db.first(query))?.balance_nanos ?? 0n)
  }

  debit(account: string, amount: string): Promise<unknown> {
    return this.#enter(account, -parseAmount(amount))
  }

  credit(account: string, amount: string): Promise<unknown> {
    return this.#enter(account, parseAmount(amount))
  }

  #enter(account: string, amount: bigint): Promise<unknown> {
    const order = { account, amount, source: 'credit', reason: 'a test' } as const
    return this.#opened.credits.enterWithId(`credit:${account}:${amount}`, order)
  }

  async assertLedger(): Promise<void> {
    assert.deepEqual((await this.#opened.verify()).findings, [])
  }
}
