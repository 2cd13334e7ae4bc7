/** How long commits of the ledger take, without the wait for earlier ones. */
import { Histogram } from '@prometheus-io/client'

export class CommitLatency extends Histogram {
  constructor() {
    super({
      name: 'sluice_ledger_commit_seconds',
      help: 'Duration of a ledger commit: a disk sync, or a transaction in the cluster database',
      buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
      registers: [],
    })
  }

  /** Measures commits that succeed. */
  async time<Result>(commit: () => Promise<Result>): Promise<Result> {
    const startedMs = performance.now()
    const result = await commit()
    this.observe((performance.now() - startedMs) / 1000)
    return result
  }
}
