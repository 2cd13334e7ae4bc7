/**
 * An outage of the database. At first callers wait, because most outages are short (a restart, a broken connection).
 * After the timeout all callers are rejected until the database is available again.
 */
import { abandon, canBeRejected, type QueuedOperation } from './queued-operations.ts'

/** At most this many requests wait. More are rejected at once, and rows of rejected requests are no longer queued. */
const maxQueued = 10_000

export interface DatabaseOutageListener {
  /** The timeout is over: waiting callers are rejected, and new ones are not admitted. */
  onUnavailable(why: string): void
  /** The database is available again after the timeout. */
  onAvailable(): void
}

export class DatabaseOutage {
  readonly #listener: DatabaseOutageListener
  readonly #timeoutMs: number
  #timeout: NodeJS.Timeout | undefined
  /** It has committed nothing since an outage that timed out: it responds, but its disk may be full, for example. */
  #isUnconfirmed = false
  /** The database is unavailable at this moment. */
  isUnavailable = false
  /** It has been unavailable for longer than callers wait. */
  isTimedOut = false

  /** `timeoutMs`: how long callers wait when the database has just become unavailable. */
  constructor(listener: DatabaseOutageListener, timeoutMs = 5000) {
    this.#listener = listener
    this.#timeoutMs = timeoutMs
  }

  /** The database does not respond. `isImmediate`: reject callers without waiting for the timeout. */
  start(why: string, isImmediate: boolean): void {
    if (this.isUnavailable && !isImmediate) return
    this.isUnavailable = true
    clearTimeout(this.#timeout)
    if (isImmediate || this.#isUnconfirmed) this.#expire(why)
    else this.#timeout = setTimeout(() => this.#expire(why), this.#timeoutMs)
  }

  /** The database responds. `hasCommitted`: it has also committed a batch. */
  end(hasCommitted: boolean): void {
    clearTimeout(this.#timeout)
    this.isUnavailable = false
    if (hasCommitted) this.#isUnconfirmed = false
    if (!this.isTimedOut) return
    this.isTimedOut = false
    this.#listener.onAvailable()
  }

  close(): void {
    clearTimeout(this.#timeout)
  }

  /** Rejects a new operation if callers do not wait any more, or if too many are queued. Returns whether it did. */
  rejectIfUnavailable(queuedOperation: QueuedOperation, queuedCount: number): boolean {
    const isTooMany = queuedCount >= maxQueued
    if (queuedOperation.operation.kind === 'row') return this.isUnavailable && isTooMany
    if (!canBeRejected(queuedOperation) || !(this.isTimedOut || isTooMany)) return false
    abandon(queuedOperation)
    return true
  }

  #expire(why: string): void {
    if (this.isTimedOut) return
    this.isTimedOut = true
    this.#isUnconfirmed = true
    this.#listener.onUnavailable(why)
  }
}
