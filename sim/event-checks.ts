/** What is checked of each event as it is decided. */
import type { Caps } from '../src/ledger/caps.ts'
import type { LedgerEvent } from '../src/ledger/events.ts'
import type { LedgerState } from '../src/ledger/state.ts'
import { EarlyAbortCheck } from './check-early-aborts.ts'
import { checkLateBill } from './check-late-bills.ts'
import type { ReferenceModel } from './checks.ts'
import type { SimRequest } from './request.ts'

interface EventChecksDeps {
  readonly capsOf: (account: string, key: string) => Caps
  readonly requestOf: (id: string) => SimRequest | undefined
  readonly monotonicNow: () => number
}

/** The checks of one process; after a crash, the next one has its own. */
export class EventChecks {
  readonly #reference: ReferenceModel
  readonly #deps: EventChecksDeps
  readonly #earlyAborts = new EarlyAbortCheck()
  /** What requests were charged when they ended. */
  readonly #charges = new Map<string, bigint>()

  constructor(reference: ReferenceModel, deps: EventChecksDeps) {
    this.#reference = reference
    this.#deps = deps
  }

  /** `isExpiry`: the death of its worker or of the process has ended the request. `state`: after the event. */
  onEvent(
    event: LedgerEvent,
    { isExpiry, state }: { readonly isExpiry: boolean; readonly state: LedgerState },
  ): void {
    const { capsOf, requestOf, monotonicNow } = this.#deps
    this.#reference.record(event)
    const request = requestOf(event.id)
    if (event.kind === 'settled') this.#charges.set(event.id, event.charge)
    if (!isExpiry) this.#earlyAborts.onEvent(event, request, monotonicNow())
    if (event.kind !== 'late' || !request) return
    const { account, key } = request.script.options
    const charged = this.#charges.get(event.id) ?? 0n
    checkLateBill(event, request, { state, caps: capsOf(account, key), charged })
  }
}
