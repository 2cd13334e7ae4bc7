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

/** Counts the rejections of each key in a minute of the clock. */
export class RejectionQuota {
  readonly #used = new Map<string, number>()
  #minute = 0

  /** Begins the minute of a time, in milliseconds since the epoch. False: it has begun before. */
  enterMinute(at: number): boolean {
    const minute = Math.floor(at / minuteMs)
    if (minute === this.#minute) return false
    this.#minute = minute
    this.#used.clear()
    return true
  }

  /** Whether this is one of the first rejections of the key in the minute. */
  take(key: string): boolean {
    const used = this.#used.get(key) ?? 0
    if (used >= maxRejectionRows) return false
    this.#used.set(key, used + 1)
    return true
  }
}

/** Sums rejections by key and error code. */
export class RejectionSums {
  #sums = new Map<string, Rejection>()

  get isEmpty(): boolean {
    return this.#sums.size === 0
  }

  add(rejection: Rejection): void {
    const name = `${rejection.key} ${rejection.code}`
    const sum = this.#sums.get(name)
    this.#sums.set(name, sum === undefined ? rejection : combine(sum, rejection))
  }

  /** Removes and returns the sums. */
  take(): Rejection[] {
    const sums = [...this.#sums.values()]
    this.#sums.clear()
    return sums
  }
}

function combine(sum: Rejection, { model, stream, count }: Rejection): Rejection {
  return {
    ...sum,
    model: sum.model === model ? model : '',
    stream: sum.stream && stream,
    count: sum.count + count,
  }
}
