/** What a simulated request asks the ledger to hold. */
import type { HoldOperation } from '../src/ledger/operations.ts'
import type { Bug } from './bugs.ts'
import type { SimHoldOptions } from './messages.ts'

export const dayMs = 600_000
export const monthMs = 4 * dayMs
/** The maximum output of a simulated model. */
export const modelTokens = 4000

export function holdOperation(
  id: string,
  options: SimHoldOptions,
  { now, bug }: { readonly now: () => number; readonly bug: Bug | null },
): Omit<HoldOperation, 'caps'> {
  const at = now()
  const dayEnd = (Math.floor(at / dayMs) + 1) * dayMs
  const monthEnd = (Math.floor(at / monthMs) + 1) * monthMs
  const request = { id, at, model: 'm', results: 1, modelTokens }
  const maximum = bug === 'small maximum trusted' ? 'obeyed' : options.maximum
  const searches = bug === 'searches not held' ? 0 : options.searches
  return { ...options, ...request, searches, maximum, dayEnd, monthEnd }
}
