/** With an injected bug: a hold that was checked but not made yet. */
import type { Held } from '../src/ledger/events.ts'
import { sizeOfHold, type HoldSize } from '../src/ledger/holds.ts'
import type { Bug } from './bugs.ts'
import { holdOperation } from './hold-operation.ts'
import type { SimHoldOptions, SimMessage } from './messages.ts'

export interface CheckedHold {
  readonly message: SimMessage
  readonly options: SimHoldOptions
  readonly available: bigint
}

/** Makes it of the money that was available when it was checked; `null` if that was not enough. */
export function makeCheckedHold(
  { message, options, available }: CheckedHold,
  deps: { readonly now: () => number; readonly bug: Bug | null },
): { readonly event: Held; readonly size: HoldSize } | null {
  const operation = holdOperation(message.id, options, deps)
  const size = sizeOfHold(operation, available)
  if (!size) return null
  const { id, at, account, key, model, price, factorPpm, inputTokens, dayEnd, monthEnd } = operation
  const fields = { id, at, account, key, model, price, factorPpm, inputTokens, dayEnd, monthEnd }
  return { event: { kind: 'held', ...fields, amount: size.amount, outputTokens: size.outputTokens }, size }
}
