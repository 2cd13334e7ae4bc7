/** Automatic recharges over a real store and the scripted Stripe, with a clock and a balance that tests set. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { openStripe, type OpenStripe } from '../../../test/support/payments/open-stripe.ts'
import type { Db } from '../../db/db.ts'
import type { LedgerCommit } from '../../db/ledger-commit.ts'
import { createLedgerCommit, openAnyStore } from '../../db/store.fixture.ts'
import { insertAccounts } from '../../ledger/credits/accounts.fixture.ts'
import { listNotifications } from '../../notifications/notifications.ts'
import {
  automaticRechargeOf,
  consentVersion,
  putConsent,
  saveCard as putCard,
  type AutomaticRecharge,
} from '../../payments/automatic-recharges.ts'
import { listOrders, type Order } from '../../payments/payment-orders.ts'
import { AutomaticRechargeService } from './automatic-recharge-service.ts'
import { checkOrder } from './check-order.ts'
import { createOrder } from './create-order.ts'
import { paymentDepsOf } from './payment-deps.fixture.ts'
import type { PaymentDeps } from './payment-deps.ts'

export const account = 'acc_one'
export const yuan = 1_000_000_000n

export interface OpenRecharges {
  readonly db: Db
  readonly deps: PaymentDeps
  readonly stripe: OpenStripe['provider']
  readonly clock: { now: number }
  readonly wallet: { balance: bigint; held: bigint }
  readonly service: AutomaticRechargeService
}

/** `now`: the first time of the clock. */
export async function openRecharges(t: TestContext, now = Date.now()): Promise<OpenRecharges> {
  const { db, commit } = await openAnyStore(t)
  await insertAccounts(db, account)
  const { method, provider, clock, ...open } = await openStripe()
  t.after(() => open[Symbol.asyncDispose]())
  clock.now = now
  const wallet = { balance: 0n, held: 0n }
  const deps: PaymentDeps = {
    ...paymentDepsOf(db, method, wallet, () => clock.now),
    availableUnderHolds: () =>
      Promise.resolve(new Map(wallet.held === 0n ? [] : [[account, wallet.balance - wallet.held]])),
  }
  let commits = 0
  const service = new AutomaticRechargeService(deps)
  const sweep = service.sweep.bind(service)
  service.sweep = async () => {
    commits += 1
    await commit(commitOf(commits, wallet.balance))
    await sweep()
  }
  return { db, deps, stripe: provider, clock, wallet, service }
}

/** The commit of the ledger after which the account has this balance. */
function commitOf(seq: number, balance: bigint): LedgerCommit {
  const { owners, ...rest } = createLedgerCommit(seq)
  return { ...rest, owners: owners.map((owner) => ({ ...owner, balance_nanos: balance })) }
}

/** More accounts with the same consent and card, and without a balance of their own; `wallet` counts for all. */
export async function addLowAccounts(open: OpenRecharges, accounts: readonly string[]): Promise<void> {
  const { db, clock } = open
  const { data } = await listOrders(db, { account }, { limit: 1 })
  const [order] = data
  const { cardCustomer, cardId, cardLastFour, ...recharge } = await read(open)
  assert.ok(order && cardCustomer !== null && cardId !== null && cardLastFour !== null)
  const card = { customer: cardCustomer, card: cardId, lastFour: cardLastFour }
  const amounts = { thresholdNanos: 8n * yuan, amountMinor: 2000n, monthlyLimitMinor: 5000n }
  await insertAccounts(db, ...accounts)
  for (const accountId of accounts) {
    const consented = { ...recharge, ...amounts, accountId, consentedBy: 'person:one' }
    await db.write(putConsent(consented, clock.now), ...putCard({ ...order, accountId }, card, clock.now))
  }
}

/** The payer pays an ordinary order of 10, whose id it returns, and agrees to save the card. */
export async function saveCard({ deps, stripe }: OpenRecharges): Promise<string> {
  const { order } = await createOrder(deps, {
    account,
    method: 'stripe',
    product: null,
    amount: '10',
    clientKey: null,
    savesCard: true,
    by: 'person:one',
  })
  stripe.pay(order.id)
  assert.equal(await checkOrder(deps, order, 'poller'), 'settled')
  return order.id
}

/** Below 8, recharge by 20, at most 50 in a month. */
export function consent({ service }: OpenRecharges, changes: object = {}): Promise<void> {
  const amounts = { threshold: '8', amount: '20', monthlyLimit: '50' }
  return service.consent({ account, ...amounts, consentVersion, by: 'person:one', ...changes })
}

/** A saved card, a consent, and a balance of 5. */
export async function openLow(t: TestContext, now?: number): Promise<OpenRecharges> {
  const open = await openRecharges(t, now)
  await saveCard(open)
  await consent(open)
  open.wallet.balance = 5n * yuan
  return open
}

export async function read({ db }: OpenRecharges): Promise<AutomaticRecharge> {
  const recharge = await automaticRechargeOf(db, account)
  assert.ok(recharge)
  return recharge
}

/** Oldest first. */
export async function automaticOrders({ db }: OpenRecharges): Promise<Order[]> {
  const { data } = await listOrders(db, { account }, { limit: 100 })
  return data.filter(({ automatic }) => automatic).toReversed()
}

/** What Stripe charged the saved card, by order. */
export function charges({ stripe }: OpenRecharges): string[] {
  return stripe.state.intents
    .filter(({ isAutomatic, status }) => isAutomatic && status === 'succeeded')
    .map(({ order }) => order ?? '')
}

/** The codes of the account's notifications about automatic recharge, oldest first. */
export async function notified({ db }: OpenRecharges): Promise<string[]> {
  const { data } = await listNotifications(db, { audience: account }, { limit: 100 })
  return data
    .map(({ code }) => String(code))
    .filter((code) => code.startsWith('recharge_'))
    .toReversed()
}

/** Lets time pass, and the leader make a round. */
export async function sweepAfter({ clock, service }: OpenRecharges, ms: number): Promise<void> {
  clock.now += ms
  await service.sweep()
}
