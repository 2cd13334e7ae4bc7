/**
 * A worker's copy of the quirks of upstreams. A worker that learns of one reports it to the main thread, which sends it to
 * all workers, so that one failed call suffices for the whole node.
 */
import type { UpstreamQuirks } from '../../relay/routing/failover.ts'
import type { MainChannelPort } from './worker-health.ts'

export class WorkerQuirks implements UpstreamQuirks {
  readonly #channel: MainChannelPort
  readonly #withoutStreamOptions = new Set<string>()

  constructor(channel: MainChannelPort) {
    this.#channel = channel
  }

  get withoutStreamOptions(): ReadonlySet<string> {
    return this.#withoutStreamOptions
  }

  addWithoutStreamOptions(upstream: string): void {
    if (this.#withoutStreamOptions.has(upstream)) return
    this.#withoutStreamOptions.add(upstream)
    this.#channel.send({ kind: 'without-stream-options', upstream })
  }

  /** Applies what the main thread sends. */
  onWithoutStreamOptions(upstreams: readonly string[]): void {
    for (const upstream of upstreams) this.#withoutStreamOptions.add(upstream)
  }
}
