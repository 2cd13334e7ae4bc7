/** The kinds of bug that the ledger's rules exclude. Each can be put into a run, which then has to fail. */

export const bugs = [
  'check-then-act',
  'not idempotent',
  'told before durable',
  'delivered past the mark',
  'refunded on a crash',
  'reclaimed by time-out',
  'cap by the wall clock',
  'claim forgotten at a crash',
] as const

export type Bug = (typeof bugs)[number]
