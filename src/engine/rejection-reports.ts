/**
 * A worker's reports of rejected requests to the main thread: the first ones of a key in a minute at once, all others as
 * sums once a second, so that a caller who is rejected all the time costs neither messages nor rows.
 */
import type { Caller } from '../accounts/directory.ts'
import type { ApiError } from '../errors.ts'
import { RejectionSummary, type Rejection } from './rejection.ts'

const reportSumsEveryMs = 1000
const maxModelChars = 256

/** What is reported of a rejected request. */
export interface RejectedCall {
  readonly id: string
  readonly caller: Pick<Caller, 'accountId' | 'keyId'>
  /** `null`: it could not be parsed. */
  readonly request: { readonly model: string; readonly stream: boolean } | null
}

export class RejectionReports {
  readonly #report: (rejection: Rejection) => void
  readonly #now: () => number
  readonly #summary = new RejectionSummary()
  #timer: NodeJS.Timeout | undefined

  /** `now`: milliseconds since the epoch. */
  constructor(report: (rejection: Rejection) => void, now: () => number = Date.now) {
    this.#report = report
    this.#now = now
  }

  record({ code, status }: ApiError, { id, caller, request }: RejectedCall): void {
    const at = this.#now()
    const { accountId: account, keyId: key } = caller
    const { stream = false } = request ?? {}
    const model = request?.model.slice(0, maxModelChars) ?? ''
    const rejection = { id, at, account, key, code, status, model, stream, count: 1 }
    this.#summary.enterMinute(at)
    if (this.#summary.pass(rejection)) return this.#report(rejection)
    this.#timer ??= setTimeout(() => this.flush(), reportSumsEveryMs)
  }

  /** Reports the sums. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const sum of this.#summary.take()) this.#report(sum)
  }
}
