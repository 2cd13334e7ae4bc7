/**
 * Double entry: every event that moves money, as entries between accounts of the books. An entry debits
 * and credits the same amount, so the books always sum to 0, and a balance is the sum of its entries.
 */
import type { EntryRow } from '../db/ledger-commit.ts'
import type { LedgerEvent } from './events.ts'

/** The operator's side of the books: sources and destinations of money. */
export const books = {
  funding: 'operator:funding',
  revenue: 'operator:revenue',
  overrun: 'operator:overrun',
} as const

export const accountBook = (accountId: string): string => `account:${accountId}`

/**
 * The entries of an event, whose amounts are never negative. `account` is the owner of the hold, for events that name only
 * the hold.
 */
export function entryRowsOf(event: LedgerEvent, account: string): EntryRow[] {
  const { at, id: ref } = event
  if (event.kind === 'credited') {
    const { amount, reason, source } = event
    const book = accountBook(event.account)
    const common = { at, kind: 'credit', account_id: event.account, ref, reason, source }
    return amount < 0n
      ? [{ ...common, debit: book, credit: books.funding, amount_nanos: -amount }]
      : [{ ...common, debit: books.funding, credit: book, amount_nanos: amount }]
  }
  if (event.kind !== 'settled' && event.kind !== 'late') return []
  const overrun = { debit: books.overrun, amount_nanos: event.overrun, kind: 'overrun' }
  const account_id = event.kind === 'late' ? event.account : account
  const charge =
    event.kind === 'late'
      ? { amount_nanos: event.charge?.amount ?? 0n, kind: 'late' }
      : { amount_nanos: event.charge, kind: 'charge' }
  const sides = [{ debit: accountBook(account_id), ...charge }, overrun]
  return sides
    .filter((side) => side.amount_nanos > 0n)
    .map((side) => ({ at, credit: books.revenue, account_id, ref, reason: null, source: null, ...side }))
}
