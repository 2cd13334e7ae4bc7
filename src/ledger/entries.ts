/**
 * Double entry: every event that moves money, as transfers between accounts of the books. A transfer debits
 * and credits the same amount, so the books always sum to 0, and a balance is the sum of its transfers.
 */
import type { EntryRow } from '../db/ledger-commit.ts'
import type { CreditKind, LedgerEvent } from './events.ts'

/** The operator's side of the books: sources and destinations of money. */
export const books = {
  funding: 'operator:funding',
  revenue: 'operator:revenue',
  overrun: 'operator:overrun',
} as const

export const accountBook = (accountId: string): string => `account:${accountId}`

/** Moves `amount` nanos, which are never negative, from `debit` to `credit`. */
export interface Transfer {
  readonly at: number
  readonly debit: string
  readonly credit: string
  readonly amount: bigint
  readonly kind: 'charge' | 'overrun' | 'credit'
  readonly account: string
  /** The id of the request or of the credit. */
  readonly ref: string
  readonly reason: string | null
  readonly source: CreditKind | null
}

/** The transfers of an event. `account` is the owner of the hold, for events that name only the hold. */
export function transfersOf(event: LedgerEvent, account: string): Transfer[] {
  const { at, id: ref } = event
  if (event.kind === 'credited') {
    const { amount, reason, source } = event
    const book = accountBook(event.account)
    const common = { at, kind: 'credit' as const, account: event.account, ref, reason, source }
    return amount < 0n
      ? [{ ...common, debit: book, credit: books.funding, amount: -amount }]
      : [{ ...common, debit: books.funding, credit: book, amount }]
  }
  if (event.kind === 'late') {
    const { overrun: amount } = event
    const common = { at, kind: 'overrun' as const, account: event.account, ref, reason: null, source: null }
    return amount > 0n ? [{ ...common, debit: books.overrun, credit: books.revenue, amount }] : []
  }
  if (event.kind !== 'settled') return []
  const sides = [
    { debit: accountBook(account), amount: event.charge, kind: 'charge' as const },
    { debit: books.overrun, amount: event.overrun, kind: 'overrun' as const },
  ]
  return sides
    .filter((side) => side.amount > 0n)
    .map((side) => ({ at, credit: books.revenue, account, ref, reason: null, source: null, ...side }))
}

/** The transfers of an event as rows. */
export function entryRowsOf(event: LedgerEvent, account: string): EntryRow[] {
  return transfersOf(event, account).map((transfer) => {
    const { at, debit, credit, amount, kind, ref, reason, source } = transfer
    const account_id = transfer.account
    return { at, debit, credit, amount_nanos: amount, kind, account_id, ref, reason, source }
  })
}
