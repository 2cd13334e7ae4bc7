/**
 * Late bills, checked against what the upstreams of a retired node measured: each is entered once, adds up with what was
 * charged at the last mark, and is charged as far as money is available.
 */
import type { Caps } from '../src/ledger/caps.ts'
import type { Late } from '../src/ledger/events.ts'
import { costOf } from '../src/ledger/price.ts'
import { accountOwner, type LedgerState } from '../src/ledger/state.ts'
import { assertInvariant } from './checks.ts'
import type { SimDisk } from './disk.ts'
import type { SimRequest } from './request.ts'

/** When it is entered: what is not charged of it, nobody could have paid. */
export function checkLateBill(
  late: Late,
  request: SimRequest,
  { state, caps, charged }: { readonly state: LedgerState; readonly caps: Caps; readonly charged: bigint },
): void {
  const { price, factorPpm } = request.script.options
  const { bound } = request.billLate()
  const due = costOf(price, bound, factorPpm) - charged - (late.charge?.amount ?? 0n)
  const isCapped = [caps.accountDay, caps.accountMonth, caps.keyDay, caps.keyMonth, caps.keyTotal].some(
    (cap) => cap !== null,
  )
  const owner = state.owners.get(accountOwner(late.account))
  if (due <= 0n || isCapped || !owner) return
  assertInvariant(owner.balance === owner.held, `${late.id} left ${due} uncharged of what was available`)
}

/** At the end: the late bills of requests whose node came back. */
export function checkLateBills(requests: readonly SimRequest[], disk: SimDisk): void {
  const charges = new Map<string, bigint>()
  const lates = new Map<string, Late>()
  for (const event of disk.events()) {
    if (event.kind === 'settled') charges.set(event.id, event.charge)
    if (event.kind !== 'late') continue
    assertInvariant(!lates.has(event.id), `${event.id} was billed late twice`)
    lates.set(event.id, event)
  }
  for (const request of requests) {
    const late = lates.get(request.id)
    if (late) checkSum(late, request, charges.get(request.id) ?? 0n)
  }
}

function checkSum({ id, charge, overrun }: Late, request: SimRequest, charged: bigint): void {
  const { price, factorPpm } = request.script.options
  const { usage, bound } = request.billLate()
  const [cost, most] = [costOf(price, usage, factorPpm), costOf(price, bound, factorPpm)]
  const total = charged + (charge?.amount ?? 0n)
  assertInvariant(total + overrun === cost, `${id} was billed ${total} and ${overrun} of ${cost}`)
  assertInvariant(
    charge === undefined || total <= most,
    `${id} was charged ${total}, its bound costs ${most}`,
  )
}
