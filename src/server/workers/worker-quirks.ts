/**
 * A worker's side of what has been learned about upstreams. Whoever learns tells the authority, which tells all, so that
 * an upstream's answer teaches a node once and not each of its workers.
 */
import type { UpstreamMemory } from '../../relay/failover.ts'
import type { Line } from '../worker-health.ts'

export class WorkerMemory implements UpstreamMemory {
  readonly #line: Pick<Line, 'tell'>
  readonly #withoutStreamOptions = new Set<string>()

  constructor(line: Pick<Line, 'tell'>) {
    this.#line = line
  }

  get withoutStreamOptions(): ReadonlySet<string> {
    return this.#withoutStreamOptions
  }

  learn(upstream: string): void {
    if (this.#withoutStreamOptions.has(upstream)) return
    this.#withoutStreamOptions.add(upstream)
    this.#line.tell({ kind: 'learned', upstream })
  }

  /** Takes over what the authority says. */
  hear(upstreams: readonly string[]): void {
    for (const upstream of upstreams) this.#withoutStreamOptions.add(upstream)
  }
}
