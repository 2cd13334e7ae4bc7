/**
 * Double entry: every event that moves money as transfers from one account of the books to another.
 * A transfer takes and gives the same amount, so the books sum to 0 whatever happens; a balance is the sum of
 * its transfers.
 */
import type { CreditKind, LedgerEvent } from './events.ts'

/** Where money comes in and goes to on the operator's side. */
export const books = {
  funding: 'operator:funding',
  revenue: 'operator:revenue',
  overrun: 'operator:overrun',
} as const

export const accountBook = (accountId: string): string => `account:${accountId}`

/** `amount` nanos, never negative, move from `debit` to `credit`. */
export interface Transfer {
  readonly at: number
  readonly debit: string
  readonly credit: string
  readonly amount: bigint
  readonly kind: 'charge' | 'overrun' | 'credit'
  readonly account: string
  /** The request's id, or the credit's. */
  readonly ref: string
  readonly reason: string | null
  readonly source: CreditKind | null
}

/** The transfers of an event. `account`: whose hold it was, for events that name only the hold. */
export function transfersOf(event: LedgerEvent, account: string): Transfer[] {
  const { at, id: ref } = event
  if (event.kind === 'credited') {
    const { amount, reason, source } = event
    const book = accountBook(event.account)
    const about = { at, kind: 'credit' as const, account: event.account, ref, reason, source }
    return amount < 0n
      ? [{ ...about, debit: book, credit: books.funding, amount: -amount }]
      : [{ ...about, debit: books.funding, credit: book, amount }]
  }
  if (event.kind === 'late') {
    const { overrun: amount } = event
    const about = { at, kind: 'overrun' as const, account: event.account, ref, reason: null, source: null }
    return amount > 0n ? [{ ...about, debit: books.overrun, credit: books.revenue, amount }] : []
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
