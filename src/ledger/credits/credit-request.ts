import type { CreditKind } from '../events.ts'

export interface CreditRequest {
  readonly account: string
  /** Nanos. A negative amount debits the account. */
  readonly amount: bigint
  readonly reason: string
  readonly source: CreditKind
  readonly idempotencyKey: string
}

export interface CreditReceipt {
  readonly id: string
  readonly amount: bigint
  readonly balance: bigint
  /** False if the same idempotency key was used before. */
  readonly isNew: boolean
}
