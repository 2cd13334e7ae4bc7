/**
 * Admission outages: while the store accepts no commits (the disk is full, PostgreSQL is unavailable) or the ledger is
 * inconsistent, a node rejects all requests. The store cannot take the incident then, so it is kept in memory, and the
 * incident monitor writes it once the store is back.
 */
import { newId } from '../lib/ids.ts'

export interface AdmissionOutage {
  /** The id of its incident. */
  readonly id: string
  readonly since: number
  /** null: it has not ended. */
  readonly until: number | null
}

/** A shorter outage is an incident only if enough requests were rejected. */
const minIncidentMs = 5000

/** Whether it has lasted long enough to be an incident, however few requests it met. */
export function isLongOutage({ since, until }: AdmissionOutage, now: number): boolean {
  return (until ?? now) - since >= minIncidentMs
}

export class AdmissionOutages {
  #latest: AdmissionOutage | null = null

  /** The latest outage, which may have ended; null if there was none since the process started. */
  get latest(): AdmissionOutage | null {
    return this.#latest
  }

  /** null: requests are admitted. */
  get current(): AdmissionOutage | null {
    return this.#latest?.until === null ? this.#latest : null
  }

  onAdmissionChange(isOpen: boolean, now: number): void {
    const { current } = this
    if (isOpen && current !== null) this.#latest = { ...current, until: now }
    if (!isOpen && current === null) this.#latest = { id: newId('inc'), since: now, until: null }
  }
}
