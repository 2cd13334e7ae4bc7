/**
 * The ids of the credits that take a payback out of an account, and of those that give it back. Credits that are no
 * payback never have such an id: theirs begin with what they are (`payment:`, `voucher:`, `credit:`).
 */
import { toValidText } from '../lib/valid-text.ts'

/** The kinds of credits that a payback consists of. */
export type PaybackKind = 'payment' | 'bonus'

/** The ids of both parts, as in the entries. */
type PartIds = Readonly<Record<PaybackKind, string>>

const prefix = 'payback'

/** What the id of each such credit matches in SQL. */
export const paybackIdPattern = `${prefix}%`

/** `id`: of the refund or the dispute. */
export const paybackIds = (id: string): PartIds => ({
  payment: toValidText(`${prefix}:${id}`),
  bonus: toValidText(`${prefix}-bonus:${id}`),
})

export const paybackUndoneIds = (id: string): PartIds => ({
  payment: toValidText(`${prefix}-undone:${id}`),
  bonus: toValidText(`${prefix}-bonus-undone:${id}`),
})

/** Whether a credit takes a payback or gives it back. */
export const isPayback = (creditId: string): boolean => creditId.startsWith(prefix)
