/** Bugs that the ledger's rules exclude. Each can be injected into a run, which must then fail. */

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
] as const

export type Bug = (typeof bugs)[number]
