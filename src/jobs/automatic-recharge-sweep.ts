/** Finds accounts below the threshold of their automatic recharge whose trigger was lost, and charges without an answer. */
import type { AutomaticRechargeService } from '../engine/payments/automatic-recharge-service.ts'
import type { Log } from '../lib/log.ts'
import { PeriodicJob } from './periodic-job.ts'

const everyMs = 60_000
/** After a crash, what it has left in flight is followed at once. */
const firstAfterMs = 1000

export class AutomaticRechargeSweep extends PeriodicJob {
  readonly #recharges: Pick<AutomaticRechargeService, 'sweep'>
  readonly #log: Log

  constructor(recharges: Pick<AutomaticRechargeService, 'sweep'>, log: Log) {
    super(everyMs, firstAfterMs)
    this.#recharges = recharges
    this.#log = log
  }

  protected run(): Promise<void> {
    return this.#recharges.sweep()
  }

  protected onError(error: unknown): void {
    this.#log.warn({ err: error }, 'automatic recharges failed')
  }
}
