/** The requests of retired workers, which may come back with a bill. */
import type { Caps } from '../src/ledger/caps.ts'
import type { Hold } from '../src/ledger/state.ts'
import type { RetiredHold } from '../src/ledger/transaction.ts'
import type { Bug } from './bugs.ts'

export const noCaps: Caps = {
  accountDay: null,
  accountMonth: null,
  keyDay: null,
  keyMonth: null,
  keyTotal: null,
  accountRequestsPerDay: null,
  keyRequestsPerDay: null,
}

interface RetiredHoldsDeps {
  readonly capsOf: (account: string, key: string) => Caps
  readonly bug: Bug | null
}

export class RetiredHolds {
  readonly #deps: RetiredHoldsDeps
  readonly #retired = new Map<string, Omit<RetiredHold, 'caps'>>()

  constructor(deps: RetiredHoldsDeps) {
    this.#deps = deps
  }

  /** `charge`: of the last mark. */
  add(hold: Hold, charge: bigint): void {
    this.#retired.set(hold.id, { hold, charge })
  }

  has(id: string): boolean {
    return this.#retired.has(id)
  }

  /** Each can be taken once. */
  take(id: string): RetiredHold | undefined {
    const retired = this.#retired.get(id)
    const { bug, capsOf } = this.#deps
    if (bug !== 'late bill charged twice') this.#retired.delete(id)
    if (!retired) return undefined
    const { account, key } = retired.hold
    const caps = bug === 'late bill above the caps' ? noCaps : capsOf(account, key)
    return { ...retired, caps: bug === 'late bill forgotten' ? null : caps }
  }
}
