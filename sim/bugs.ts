/** Bugs that the ledger's rules exclude. Each can be injected into a run, which must then fail. */

import type { Owner } from '../src/ledger/state.ts'

export const bugs = [
  'check-then-act',
  'not idempotent',
  'confirmed before durable',
  'delivered past the mark',
  'delivered unpaid',
  'released on a crash',
  'released by timeout',
  'cap by the wall clock',
  'claim lost in a crash',
  'small maximum trusted',
  'beside a request for all',
  'overrun kept after a credit',
  'charged above the bound',
  'searches not held',
  'searched on after a denial',
  'late bill charged twice',
  'late bill above the caps',
  'late bill forgotten',
  'early aborts free',
  'free early aborts charged',
  'paid back what is held',
  'paid back twice',
] as const

export type Bug = (typeof bugs)[number]

/** Hides from the next hold of an account what the bug ignores. The returned function restores it. */
export function disguise(bug: Bug | null, owner: Owner | undefined): () => void {
  if (owner && bug === 'beside a request for all') {
    const { held } = owner
    Object.assign(owner, { held: 0n, balance: owner.balance - held })
    return () => void Object.assign(owner, { held: owner.held + held, balance: owner.balance + held })
  }
  return () => undefined
}
