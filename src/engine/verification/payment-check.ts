/**
 * Compares the rows of payments, refunds and disputes with the ledger: each payment and its bonus are one credit, each
 * payback is one debit, and no such credit is without its payment. Rows are written before their entries, so an order of a
 * credit that is open, and a refund that is due, may lack them.
 */
import type { Db } from '../../db/db.ts'
import { payments } from '../../db/migrations/0014-payments.ts'
import type { Difference } from './row-sums.ts'

/** Ids as `paymentCreditId` and `bonusCreditId` make them. */
const creditsText = `
  select 'payment:' || method || ':' || merchant || ':' || transaction_id as ref, account_id, credit_nanos as nanos
    from payments
  union all
  select 'bonus:' || order_id, account_id, bonus_nanos from payments where bonus_nanos > 0`

const differingCreditsText = `select paid.ref, paid.nanos as stated_nanos, entries.amount_nanos as entered_nanos
  from (${creditsText}) as paid
  left join entries on entries.ref = paid.ref and entries.reason is not null
  left join credit_orders on credit_orders.id = paid.ref
  where (entries.id is null and (credit_orders.id is null or credit_orders.entered_at is not null))
    or entries.amount_nanos <> paid.nanos or entries.account_id <> paid.account_id`

/** Operators credit payments of differences without a row of a payment. */
const unpaidCreditsText = `select entries.ref, entries.amount_nanos as entered_nanos
  from entries
  left join (${creditsText}
    union all
    select 'payment:' || method || ':' || merchant || ':' || reference, account_id, amount_minor
      from payment_differences where action = 'credit') as paid on paid.ref = entries.ref
  where entries.reason is not null and (entries.ref like 'payment:%' or entries.ref like 'bonus:%')
    and paid.ref is null`

/** Ids as `paybackIds`, `paybackUndoneIds` and `disputeId` make them. `is_due`: its entries may still be missing. */
const paybacksText = `
  select id, id as name, '' as part, payment_nanos as nanos, state, next_check_at is not null as is_due
    from payment_refunds
  union all
  select id, id, '-bonus', bonus_nanos, state, next_check_at is not null from payment_refunds
  union all
  select reference, 'dispute:' || method || ':' || reference, '', payment_nanos, state, 1 = 0 from payment_disputes
  union all
  select reference, 'dispute:' || method || ':' || reference, '-bonus', bonus_nanos, state, 1 = 0
    from payment_disputes`

/** A payback that has been given back has ended as refused, failed or won; one that was refused may have taken nothing. */
const differingPaybacksText = `select paybacks.id as ref, paybacks.nanos as stated_nanos,
    coalesce(taken.amount_nanos, 0) - coalesce(undone.amount_nanos, 0) as entered_nanos
  from (${paybacksText}) as paybacks
  left join entries as taken on taken.ref = 'payback' || paybacks.part || ':' || paybacks.name
    and taken.reason is not null
  left join entries as undone on undone.ref = 'payback' || paybacks.part || '-undone:' || paybacks.name
    and undone.reason is not null
  where taken.amount_nanos <> paybacks.nanos or undone.amount_nanos <> paybacks.nanos
    or (taken.id is null and paybacks.nanos > 0
      and not (state = 'refused' or (state = 'requested' and is_due)))
    or (undone.id is not null and (taken.id is null or state not in ('refused', 'failed', 'won', 'open')))
    or (undone.id is null and taken.amount_nanos > 0 and state in ('refused', 'failed', 'won') and not is_due)`

interface DifferingRow {
  readonly ref: string
  readonly stated_nanos: bigint
  /** null: there is no entry. */
  readonly entered_nanos: bigint | null
}

const read = <Row>(db: Db, sql: string): Promise<Row[]> => db.report<Row>({ sql, parameters: [] })

/** What differs. `db` must see a single snapshot. A stopped relay's database may have an earlier schema, without payments. */
export async function comparePayments(db: Db): Promise<Difference[]> {
  const [schema] = await read<{ version: number }>(db, 'select max(version) as version from schema_version')
  if (schema === undefined || schema.version < payments.version) return []
  const credits = await read<DifferingRow>(db, differingCreditsText)
  const unpaid = await read<Omit<DifferingRow, 'stated_nanos'>>(db, unpaidCreditsText)
  const paybacks = await read<DifferingRow>(db, differingPaybacksText)
  return [
    ...credits.map((row) => differenceOf(`the credit ${row.ref} and its payment`, row)),
    ...unpaid.map((row) =>
      differenceOf(`the credit ${row.ref} and its payment`, { ...row, stated_nanos: 0n }),
    ),
    ...paybacks.map((row) => differenceOf(`the entries of payback ${row.ref} and its row`, row)),
  ]
}

function differenceOf(what: string, { stated_nanos: stated, entered_nanos }: DifferingRow): Difference {
  const entered = entered_nanos ?? 0n
  const drift = entered > stated ? entered - stated : stated - entered
  return { message: `${what} differ: ${entered} nanos in the ledger, ${stated} stated`, drift }
}
