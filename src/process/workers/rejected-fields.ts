/** The request fields that models of upstreams have rejected, for a day: an upstream may accept them later. */

import type { RejectedFieldRecord } from '../../relay/routing/rejected-fields.ts'

const ttlMs = 86_400_000
/** When full, the oldest are forgotten. */
const maxRecords = 1000
const none: ReadonlySet<string> = new Set()

export class RejectedFields {
  /** By upstream and model, then by field. */
  readonly #records = new Map<string, Map<string, RejectedFieldRecord>>()
  #count = 0

  fields(upstream: string, model: string, now: number): ReadonlySet<string> {
    const records = this.#records.get(keyOf(upstream, model))
    if (!records) return none
    // A clock that was ahead must not make it last longer.
    const recent = [...records.values()].filter(({ learnedAtMs }) => Math.abs(now - learnedAtMs) < ttlMs)
    return new Set(recent.map(({ field }) => field))
  }

  add(record: RejectedFieldRecord): void {
    const key = keyOf(record.upstream, record.model)
    const records = this.#records.get(key) ?? new Map<string, RejectedFieldRecord>()
    this.#count -= records.size
    records.set(record.field, record)
    // Inserted last again, so that the first key is the one that was learned longest ago.
    this.#records.delete(key)
    this.#records.set(key, records)
    this.#count += records.size
    for (const [oldest, { size }] of this.#records) {
      if (this.#count <= maxRecords) return
      this.#records.delete(oldest)
      this.#count -= size
    }
  }

  all(): RejectedFieldRecord[] {
    return [...this.#records.values()].flatMap((records) => [...records.values()])
  }
}

function keyOf(upstream: string, model: string): string {
  return `${upstream} ${model}`
}
