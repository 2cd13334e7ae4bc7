/** Credits of a cluster: each batch loads those that it may enter. */
import { apiError } from '../../errors.ts'
import type { CreditStore } from '../credits.ts'
import type { SharedLedger } from './shared-ledger.ts'

/** `enqueue`: its callback gets `null` if the database is unavailable. */
async function submit<Result>(enqueue: (reply: (result: Result | null) => void) => void): Promise<Result> {
  const result = await new Promise<Result | null>(enqueue)
  if (result === null) throw apiError('service_unavailable', { retryAfterMs: 1000 })
  return result
}

export function sharedCredits(ledger: SharedLedger): CreditStore {
  return {
    credit: (credit) =>
      submit((reply) => ledger.enqueue({ kind: 'credit', credit, reply, isAbandoned: false })),
    endTrial: (end) => submit((reply) => ledger.enqueue({ kind: 'trial', end, reply, isAbandoned: false })),
  }
}
