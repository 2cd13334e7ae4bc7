/** What a simulated request asks the ledger to settle. */
import { billEarlyAbort } from '../src/engine/early-abort-bill.ts'
import { accountOwner, type Hold, type LedgerState } from '../src/ledger/state.ts'
import type { SettleRequest } from '../src/ledger/transaction.ts'
import type { EarlyAborts } from '../src/limits/early-aborts.ts'
import { outcome } from '../src/relay/request-outcome.fixture.ts'
import type { Bug } from './bugs.ts'
import type { SimOperation } from './messages.ts'

interface SettleContext {
  /** Undefined: its node was retired. */
  readonly held: Hold | undefined
  readonly earlyAborts: EarlyAborts
  /** Monotonic milliseconds. */
  readonly now: number
  readonly bug: Bug | null
}

export function settleRequest(
  id: string,
  { usage, bound, leftEarly }: Extract<SimOperation, { kind: 'settle' }>,
  { held, bug, ...counted }: SettleContext,
): SettleRequest {
  const bounded = bound && bug !== 'charged above the bound' ? { bound } : {}
  const request = { id, usage, ...bounded, cause: 'provider', servedModel: null, outcome } as const
  if (!leftEarly || bug === 'early aborts free') return request
  return billEarlyAbort({ ...request, leftEarly }, held, counted)
}

/** With an injected bug: the hold counts in the present day of its account. */
export function moveToPresent({ owners }: LedgerState, held: Hold): void {
  const account = owners.get(accountOwner(held.account))
  if (!account || account.dayEnd === held.dayEnd) return
  account.dayHeld += held.amount
  Object.assign(held, { dayEnd: account.dayEnd })
}
