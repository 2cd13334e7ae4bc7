/**
 * Automatic recharges: one row per account, with what its person has consented to, the saved card and the order in flight.
 * Statements are for the batches of `engine/payments/`.
 */
import { sql as fragment, type Compilable, type ExpressionBuilder } from 'kysely'
import { expectChanges, type Db, type Query } from '../db/db.ts'
import { columnsOf, fieldsOf, type RowFields } from '../db/row-fields.ts'
import { sql, type AutomaticRechargesTable, type Schema } from '../db/schema/schema.ts'
import type { MethodName, SavedCard } from './payment-method.ts'
import type { Order } from './payment-orders.ts'
import { forgetReplacedCard, keepReplacedCard } from './replaced-cards.ts'
import { openRefundsOf } from './payment-refunds.ts'

/** The version of the text to which a person consents. The console has the text itself, in both languages. */
export const consentVersion = '2026-11-28'

/** A new order is made at the earliest so long after the last one. */
const minIntervalMs = 600_000

export type AutomaticRecharge = RowFields<AutomaticRechargesTable>

export async function automaticRechargeOf(db: Db, account: string): Promise<AutomaticRecharge | undefined> {
  const row = await db.first(recharges().where('account_id', '=', account))
  return row && fieldsOf(row)
}

const recharges = () => sql.selectFrom('automatic_recharges').selectAll('automatic_recharges')

type Build = ExpressionBuilder<Pick<Schema, 'automatic_recharges'>, 'automatic_recharges'>

const isDue = (now: number) => (build: Build) =>
  build.and([
    build('automatic_recharges.state', '=', 'on'),
    build('order_id', 'is', null),
    build.or([build('next_attempt_at', 'is', null), build('next_attempt_at', '<=', now)]),
    build.or([build('last_attempt_at', 'is', null), build('last_attempt_at', '<=', now - minIntervalMs)]),
  ])

/** Those of the accounts that may make an order now, if their balance is below their threshold. */
export async function dueRecharges(
  db: Db,
  now: number,
  accounts: readonly string[],
): Promise<AutomaticRecharge[]> {
  const query = recharges().where('account_id', 'in', accounts).where(isDue(now))
  return (await db.all(query)).map(fieldsOf)
}

interface SweepPage {
  readonly method: MethodName
  /** Begins after this account, and continues with the first one. */
  readonly after: string
  readonly now: number
  readonly limit: number
}

/** The accounts, by their ids, with an order in flight, or due with a balance below their threshold, whatever is held. */
export async function accountsToSweep(
  db: Db,
  { method, after, now, limit }: SweepPage,
): Promise<readonly string[]> {
  const query = sql
    .selectFrom('automatic_recharges')
    .innerJoin('accounts', 'accounts.id', 'automatic_recharges.account_id')
    .leftJoin('owners', (join) =>
      join.on('owners.id', '=', fragment<string>`'a:' || automatic_recharges.account_id`),
    )
    .select('automatic_recharges.account_id')
    .where('method', '=', method)
    .where((build) =>
      build.or([
        build('order_id', 'is not', null),
        build.and([
          isDue(now)(build),
          build('accounts.status', '=', 'active'),
          build(build.fn.coalesce('owners.balance_nanos', build.lit(0)), '<', build.ref('threshold_nanos')),
        ]),
      ]),
    )
    .orderBy((build) =>
      build.case().when('account_id', '>', after).then(build.lit(0)).else(build.lit(1)).end(),
    )
    .orderBy('account_id')
    .limit(limit)
  return (await db.all(query)).map((row) => row.account_id)
}

/** Those that have changed since then, with their thresholds. */
export async function thresholdsChangedSince(db: Db, since: number) {
  const query = sql
    .selectFrom('automatic_recharges')
    .select(['account_id', 'state', 'threshold_nanos'])
    .where('updated_at', '>=', since)
  return db.all(query)
}

/** Those with this card, or with any card of this customer. */
export async function rechargesWithCard(
  db: Db,
  method: MethodName,
  { customer, card }: { readonly customer: string; readonly card: string | null },
): Promise<AutomaticRecharge[]> {
  let query = recharges().where('method', '=', method).where('card_customer', '=', customer)
  if (card !== null) query = query.where('card_id', '=', card)
  return (await db.all(query)).map(fieldsOf)
}

export function cardOf(recharge: AutomaticRecharge): SavedCard | null {
  const { cardCustomer: customer, cardId: card, cardLastFour: lastFour } = recharge
  return customer === null || card === null || lastFour === null ? null : { customer, card, lastFour }
}

const noConsent = { consent_version: null, consented_at: null, consented_by: null } as const
const noCard = { merchant: null, card_customer: null, card_id: null, card_last_four: null } as const
const noFailure = { problem: null, failures: 0, next_attempt_at: null } as const
const newRow = { state: 'off', ...noFailure, last_attempt_at: null, order_id: null } as const

export interface Consent extends Pick<AutomaticRecharge, 'accountId' | 'method' | 'currency'> {
  readonly thresholdNanos: bigint
  readonly amountMinor: bigint
  readonly monthlyLimitMinor: bigint
  readonly consentedBy: string
}

/** Creates the row, or sets what changes; it is on if the other half, consent or card, is there. */
function putRow(
  row: AutomaticRechargesTable,
  set: Partial<AutomaticRechargesTable>,
  otherHalf: 'card_id' | 'consented_at',
): Compilable {
  return sql
    .insertInto('automatic_recharges')
    .values(row)
    .onConflict((conflict) =>
      conflict.column('account_id').doUpdateSet((build) => ({
        ...set,
        state: build
          .case()
          .when(`automatic_recharges.${otherHalf}`, 'is not', null)
          .then('on' as const)
          .else('off' as const)
          .end(),
      })),
    )
}

/** On from now, or as soon as a card is saved. */
export function putConsent(consent: Consent, at: number): Compilable {
  const set = {
    method: consent.method,
    currency: consent.currency,
    threshold_nanos: consent.thresholdNanos,
    amount_minor: consent.amountMinor,
    monthly_limit_minor: consent.monthlyLimitMinor,
    consent_version: consentVersion,
    consented_at: at,
    consented_by: consent.consentedBy,
    ...noFailure,
    updated_at: at,
  }
  const row = { ...newRow, ...noCard, ...set, account_id: consent.accountId, created_at: at }
  return putRow(row, set, 'card_id')
}

/**
 * Replaces the card of the order's account, and goes on if its person has consented. The card that was there before is kept
 * among the replaced ones.
 */
export function saveCard(order: Order, card: SavedCard, at: number): Query[] {
  const { accountId, method, merchant } = order
  return [
    keepReplacedCard(accountId, card),
    forgetReplacedCard({ method, merchant, cardId: card.card }),
    putCard(order, card, at),
  ]
}

function putCard(order: Order, card: SavedCard, at: number): Compilable {
  const { accountId, method, merchant, currency } = order
  const set = {
    method,
    merchant,
    card_customer: card.customer,
    card_id: card.card,
    card_last_four: card.lastFour,
    ...noFailure,
    updated_at: at,
  }
  const amounts = { threshold_nanos: null, amount_minor: null, monthly_limit_minor: null }
  const row = { ...newRow, ...amounts, ...noConsent, ...set, account_id: accountId, currency, created_at: at }
  return putRow(row, set, 'consented_at')
}

const update = (account: string) => sql.updateTable('automatic_recharges').where('account_id', '=', account)

/** Ends the consent; the amounts stay for the next one. Changes no row that has none. */
export function endConsent(account: string, at: number): Compilable {
  return update(account)
    .set({ state: 'off', ...noConsent, ...noFailure, updated_at: at })
    .where('consented_at', 'is not', null)
}

/** Forgets a card, and with it the consent. */
export function forgetCard(
  { accountId, cardId }: AutomaticRecharge,
  problem: string | null,
  at: number,
): Compilable {
  return update(accountId)
    .set({ state: 'off', ...noConsent, ...noCard, ...noFailure, problem, updated_at: at })
    .where('card_id', '=', cardId)
}

/**
 * Takes the account for an order, unless anything about it has changed since it was read, or a refund has lowered its balance
 * and is neither made nor given back.
 */
export function beginAttempt(recharge: AutomaticRecharge, orderId: string, at: number): Query {
  const { accountId, lastAttemptAt, updatedAt } = recharge
  const begun = update(accountId)
    .set({ order_id: orderId, last_attempt_at: at, next_attempt_at: null, updated_at: at })
    .where('state', '=', 'on')
    .where('order_id', 'is', null)
    .where('last_attempt_at', lastAttemptAt === null ? 'is' : '=', lastAttemptAt)
    .where('updated_at', '=', updatedAt)
    .where((build) => build.not(build.exists(openRefundsOf(accountId))))
  return expectChanges(begun, 1)
}

type Outcome = Partial<Pick<AutomaticRecharge, 'state' | 'problem' | 'failures' | 'nextAttemptAt'>>

/** Changes one that is on: who has switched it off in the meantime keeps it off. */
export function patchIfOn(account: string, outcome: Outcome, at: number): Compilable {
  return update(account)
    .set({ ...columnsOf<AutomaticRechargesTable>(outcome), updated_at: at })
    .where('state', '=', 'on')
}

/**
 * What was paid after a backup is not in it, so balances are low again, and the charges of the month are not known: no
 * card is charged before its owner has agreed again.
 */
export function pauseAfterRestore(at: number): Compilable {
  const paused = { state: 'paused', problem: 'restored', updated_at: at } as const
  return sql.updateTable('automatic_recharges').set(paused).where('state', '=', 'on')
}

/** Its order is no longer in flight, once. */
export function endAttempt(account: string, orderId: string, at: number): Query {
  const ended = update(account).set({ order_id: null, updated_at: at }).where('order_id', '=', orderId)
  return expectChanges(ended, 1)
}
