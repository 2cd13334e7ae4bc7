/**
 * Writes the rows and log lines of rejected requests that the workers of this node report. Each key has a bounded number
 * of them in a minute; its further rejections share one row and line for each error code, written when the minute ends.
 */
import type { RequestRow } from '../db/ledger-commit.ts'
import type { Log } from '../lib/log.ts'
import { requestRow } from '../ledger/request-row.ts'
import { minuteMs, RejectionSummary, type Rejection } from './rejection.ts'

/** Writes a row with the next commit; the core does. */
export interface RequestRowSink {
  recordRequest(row: RequestRow): void
}

export class RejectionRecorder {
  readonly #sink: RequestRowSink
  readonly #log: Pick<Log, 'line'>
  readonly #now: () => number
  readonly #summary = new RejectionSummary()
  #timer: NodeJS.Timeout | undefined
  /** Rejections that share a row, since the start. */
  summed = 0

  /** `now`: milliseconds since the epoch. */
  constructor(sink: RequestRowSink, log: Pick<Log, 'line'>, now: () => number) {
    this.#sink = sink
    this.#log = log
    this.#now = now
  }

  /** Counts in the minute in which it is called, whatever time the worker had. */
  record(reported: Rejection): void {
    const rejection = { ...reported, at: this.#now() }
    if (this.#summary.enterMinute(rejection.at)) this.#writeSums()
    if (this.#summary.pass(rejection)) return this.#write(rejection)
    this.summed += rejection.count
    this.#timer ??= this.#waitForMinuteEnd()
  }

  /** Writes what has been counted. */
  close(): void {
    clearTimeout(this.#timer)
    this.#writeSums()
  }

  #waitForMinuteEnd(): NodeJS.Timeout {
    const remainingMs = minuteMs - (this.#now() % minuteMs)
    return setTimeout(() => {
      if (this.#summary.enterMinute(this.#now())) this.#writeSums()
      this.#timer = this.#summary.isEmpty ? undefined : this.#waitForMinuteEnd()
    }, remainingMs).unref()
  }

  #writeSums(): void {
    for (const sum of this.#summary.take()) this.#write(sum)
  }

  #write({ id, at, account, key, code, status, model, stream, count }: Rejection): void {
    const identity = { id, at, account, key, amount: 0n, priceVersion: 0, count }
    const outcome = {
      httpStatus: status,
      outcome: 'refused',
      upstream: null,
      finish: null,
      errorCode: code,
      firstTokenMs: null,
      durationMs: 0,
      attempts: '[]',
      upstreamCost: null,
      isClamped: false,
      stream,
      model,
    } as const
    this.#sink.recordRequest(requestRow(identity, outcome, null))
    const counted = count === 1 ? undefined : count
    this.#log.line({ request: id, account, key, model, status, code, count: counted }, 'request rejected')
  }
}
