/** What a caller that left before the first content is charged, once the free early aborts are used up. */
import type { Hold } from '../ledger/state.ts'
import type { SettleRequest } from '../ledger/transaction.ts'
import type { EarlyAborts } from '../limits/early-aborts.ts'

/** The settlement of an early abort. `held`: its hold, if it is open; `now`: monotonic milliseconds. */
export function billEarlyAbort(
  { leftEarly, ...request }: SettleRequest,
  held: Hold | undefined,
  { earlyAborts, now }: { readonly earlyAborts: EarlyAborts; readonly now: number },
): SettleRequest {
  const usage = leftEarly?.usage ?? null
  // The upstream has probably billed nothing.
  if (!held || usage === null) return request
  return earlyAborts.count(held.account, { tokens: usage.input, now }) ? request : { ...request, usage }
}
