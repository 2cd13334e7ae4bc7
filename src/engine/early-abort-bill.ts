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
  const isFree = !held || earlyAborts.count(held.account, now)
  return isFree || !leftEarly ? request : { ...request, usage: leftEarly.usage }
}
