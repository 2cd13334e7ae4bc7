/** Which accounts have an export (CSV, PDF) under way on this node, whichever worker makes it: one of each at a time. */

/** An export that has not said for this long that it goes on has ended: its worker or its client is gone. */
const leaseMs = 120_000

export class ExportSlots {
  readonly #now: () => number
  readonly #running = new Map<string, { readonly id: string; readonly until: number }>()

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /** Whether the export may begin or go on. */
  take(account: string, id: string): boolean {
    const running = this.#running.get(account)
    const now = this.#now()
    if (running !== undefined && running.id !== id && running.until > now) return false
    this.#running.set(account, { id, until: now + leaseMs })
    return true
  }

  end(account: string, id: string): void {
    if (this.#running.get(account)?.id === id) this.#running.delete(account)
  }
}
