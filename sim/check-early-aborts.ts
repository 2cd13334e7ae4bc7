/**
 * Early aborts, counted independently of the relay: within 60 minutes, the first ones of an account are free and the
 * others cost the estimated input, if the upstream had begun to respond.
 */
import type { LedgerEvent } from '../src/ledger/events.ts'
import { freeAborts } from './authority.ts'
import { assertInvariant } from './checks.ts'
import type { SimRequest } from './request.ts'

const hourMs = 3_600_000

export class EarlyAbortCheck {
  readonly #times = new Map<string, number[]>()

  /** To be called with events of settlements. `now`: monotonic milliseconds. */
  onEvent(event: LedgerEvent, request: SimRequest | undefined, now: number): void {
    if (!request?.leftEarly?.usage || (event.kind !== 'settled' && event.kind !== 'released')) return
    const { account, inputTokens } = request.script.options
    const times = this.#times.get(account) ?? []
    const isFree = times.filter((time) => now - time < hourMs).length < freeAborts
    this.#times.set(account, [...times, now])
    const isCharged = event.kind === 'settled'
    assertInvariant(
      isCharged === !isFree,
      `${request.id} left early and was ${isCharged ? '' : 'not '}charged`,
    )
    if (event.kind === 'settled')
      assertInvariant(
        event.usage.input === inputTokens && event.usage.output === 0,
        `${request.id} left early and was charged more than its input`,
      )
  }
}
