/**
 * A worker's copy of the quirks of upstreams. A worker that learns of one reports it to the main thread, which sends it to
 * all workers, so that one failed call suffices for the whole node.
 */
import type { RejectedFieldRecord, UpstreamQuirks } from '../../relay/routing/rejected-fields.ts'
import { RejectedFields } from './rejected-fields.ts'
import type { MainChannel } from './remote-ledger.ts'

export class WorkerQuirks implements UpstreamQuirks {
  readonly #channel: MainChannel
  readonly #rejected = new RejectedFields()

  constructor(channel: MainChannel) {
    this.#channel = channel
  }

  rejectedFields(upstream: string, model: string, now: number): ReadonlySet<string> {
    return this.#rejected.fields(upstream, model, now)
  }

  addRejectedField(record: RejectedFieldRecord): void {
    this.#rejected.add(record)
    this.#channel.send('relay', 'addRejectedField', record)
  }

  /** Applies what the main thread sends. */
  onRejectedFields(records: readonly RejectedFieldRecord[]): void {
    for (const record of records) this.#rejected.add(record)
  }
}
