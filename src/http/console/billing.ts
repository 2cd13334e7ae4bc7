/** An account's money: what is there, what moved it, vouchers, caps. */
import { updateAccount } from '../../accounts/accounts.ts'
import { decimalOf } from '../../lib/money.ts'
import { currency } from '../../usage/request-records.ts'
import { listCredits, listMovements, type Credit } from '../../usage/statement.ts'
import { capOf, capText, openedCursor, sealedCursor, timeOf } from '../admin/schemas.ts'
import { announced } from '../admin/desk.ts'
import { billingCalls, type Entry, type Wallet } from './contract/billing.ts'
import { statementCalls } from './billing/statements.ts'
import { bound, type Bound, type Visit } from './visit.ts'

async function wallet({ house, account }: Visit): Promise<Wallet> {
  const { balance, held, available, spentToday, spentMonth } = await house.wallet(account.id, null)
  return {
    currency,
    balance: decimalOf(balance),
    held: decimalOf(held),
    available: decimalOf(available),
    spent_today: decimalOf(spentToday),
    spent_month: decimalOf(spentMonth),
    caps: { daily: capText(account.caps.dailyNanos), monthly: capText(account.caps.monthlyNanos) },
  }
}

function entryView(entry: Credit, balanceNanos: bigint | null): Entry {
  const isCharge = entry.kind === 'charge'
  return {
    id: String(entry.id),
    time: timeOf(entry.at),
    kind: isCharge ? 'charge' : 'credit',
    amount: decimalOf(entry.amountNanos),
    balance: balanceNanos === null ? null : decimalOf(balanceNanos),
    source: entry.source,
    reason: entry.reason,
    request_id: isCharge ? entry.reference : null,
  }
}

async function entries({ house, accountId, query }: Visit<typeof billingCalls.entries>) {
  const { limit, cursor, kind } = query
  const page = { limit, cursor: openedCursor(cursor, kind === 'credit' ? /^\d+$/ : /^\d+\.-?\d+$/) }
  if (kind === 'credit') {
    const { data, next } = await listCredits(house.db, accountId, page)
    return { data: data.map((entry) => entryView(entry, null)), next: sealedCursor(next) }
  }
  const { data, next } = await listMovements(house.db, accountId, page)
  return { data: data.map((entry) => entryView(entry, entry.balanceNanos)), next: sealedCursor(next) }
}

async function setCaps(visit: Visit<typeof billingCalls.setCaps>) {
  const { house, accountId, by, body } = visit
  const caps = { dailyNanos: capOf(body.daily, 'daily'), monthlyNanos: capOf(body.monthly, 'monthly') }
  await announced({ house, by }, updateAccount(house.db, accountId, { caps }, by))
  return wallet(visit)
}

async function redeem({ house, accountId, by, body }: Visit<typeof billingCalls.redeem>) {
  const { voucher, balance } = await house.redeem(accountId, body.code, by)
  return { amount: decimalOf(voucher.amountNanos), balance: decimalOf(balance) }
}

export const moneyCalls: readonly Bound[] = [
  bound(billingCalls.wallet, wallet),
  bound(billingCalls.entries, entries),
  bound(billingCalls.setCaps, setCaps),
  bound(billingCalls.redeem, redeem),
  ...statementCalls,
]
