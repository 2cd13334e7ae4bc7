/**
 * Rejected requests on their way from the workers to their rows: each of the first ones of a key in a minute, then sums
 * by key and error code. There are only as many of these as there are known keys times codes in errors.ts.
 */
import type { ApiErrorCode } from '../errors.ts'

/** One rejected request, or several of the same key with the same code. */
export interface Rejection {
  /** The id of the first request. */
  readonly id: string
  /** When the first one was rejected, milliseconds since the epoch. */
  readonly at: number
  readonly account: string
  readonly key: string
  readonly code: ApiErrorCode
  /** The HTTP status of the first one. */
  readonly status: number
  /** The requested model; empty if it is unknown, or if the requests named several. */
  readonly model: string
  readonly stream: boolean
  readonly count: number
}

/** Rejections of a key in a minute that get a row and a log line of their own. */
export const maxRejectionRows = 60
export const minuteMs = 60_000

/** Passes the first rejections of each key in a minute of the clock, and sums the others by key and error code. */
export class RejectionSummary {
  readonly #passed = new Map<string, number>()
  readonly #sums = new Map<string, Rejection>()
  #minute = 0

  /** Begins the minute of a time, in milliseconds since the epoch. False: it has begun before. */
  enterMinute(at: number): boolean {
    const minute = Math.floor(at / minuteMs)
    if (minute === this.#minute) return false
    this.#minute = minute
    this.#passed.clear()
    return true
  }

  /** Whether this is one of the first rejections of its key in the minute; otherwise it is added to a sum. */
  pass(rejection: Rejection): boolean {
    const { key, code, model, stream, count } = rejection
    const passed = this.#passed.get(key) ?? 0
    if (count === 1 && passed < maxRejectionRows) {
      this.#passed.set(key, passed + 1)
      return true
    }
    const name = `${key} ${code}`
    const sum = this.#sums.get(name)
    const combined = sum && {
      ...sum,
      model: sum.model === model ? model : '',
      stream: sum.stream && stream,
      count: sum.count + count,
    }
    this.#sums.set(name, combined ?? rejection)
    return false
  }

  get isEmpty(): boolean {
    return this.#sums.size === 0
  }

  /** Removes and returns the sums. */
  take(): Rejection[] {
    const sums = [...this.#sums.values()]
    this.#sums.clear()
    return sums
  }
}
