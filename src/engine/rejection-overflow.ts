/**
 * Rejected requests whose rows cannot wait in memory any longer, because the store has been unavailable for a long time:
 * they are counted by minute, so that availability is right once the store is back.
 */
import type { Db } from '../db/db.ts'
import type { RequestRow } from '../db/ledger-commit.ts'
import { isSafeToRetry } from '../db/store-error.ts'
import { addRejections } from '../usage/rollups/availability-rollup.ts'

const minuteMs = 60_000
const writeEveryMs = 5000

export class RejectionOverflow {
  readonly #db: Db
  readonly #enqueue: (row: RequestRow) => boolean
  #minutes = new Map<number, number>()
  #timer: NodeJS.Timeout | undefined

  /** `enqueue`: adds a row to the next commit; false: too many are waiting. */
  constructor(db: Db, enqueue: (row: RequestRow) => boolean) {
    this.#db = db
    this.#enqueue = enqueue
  }

  /** Writes a row with the next commit, or counts it unless the rejection was the caller's fault. */
  record(row: RequestRow): void {
    if (this.#enqueue(row)) return
    const { at, outcome, http_status: status, count } = row
    if (outcome !== 'refused' || status < 500) return
    this.#count(at - (at % minuteMs), count)
    this.#timer ??= setInterval(() => void this.#write(), writeEveryMs).unref()
  }

  async close(): Promise<void> {
    await this.#write()
    clearInterval(this.#timer)
  }

  #count(minute: number, requests: number): void {
    this.#minutes.set(minute, (this.#minutes.get(minute) ?? 0) + requests)
  }

  async #write(): Promise<void> {
    const minutes = this.#minutes
    if (minutes.size === 0) return
    this.#minutes = new Map()
    try {
      await addRejections(this.#db, minutes)
    } catch (error) {
      // The store is still unavailable: the next attempt writes them. What may have been written is not counted twice.
      if (!isSafeToRetry(error)) return
      for (const [minute, requests] of minutes) this.#count(minute, requests)
    }
  }
}
