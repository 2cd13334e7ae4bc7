/** Checks each public address of the relay every minute, and notifies operators when one is down or up again. */
import type { Db } from '../db/db.ts'
import {
  checkAddress,
  recordAddressCheck,
  listPublicAddresses,
  type PublicAddress,
} from '../health/public-addresses.ts'
import type { Log } from '../lib/log.ts'
import { operatorAudience } from '../notifications/notification-kinds.ts'
import { PeriodicJob } from './periodic-job.ts'
import { raiseNotification, type NotificationInput } from '../notifications/notifications.ts'

export interface AddressMonitorDeps {
  readonly db: Db
  readonly log: Log
  readonly urls: readonly string[]
  readonly everyMs: number
}

/** A single failure may be a lost packet. */
const failuresToNotify = 2

function notificationFor(before: PublicAddress, now: PublicAddress): NotificationInput | null {
  const isDown = now.failures === failuresToNotify
  const isBack = now.isHealthy === true && before.failures >= failuresToNotify
  if (!isDown && !isBack) return null
  return {
    audience: operatorAudience,
    kind: 'address',
    severity: isDown ? 'critical' : 'info',
    subject: `address:${now.url}`,
    period: `${isDown ? 'down' : 'up'} ${now.since}`,
    code: isDown ? 'address_down' : 'address_up',
    params: isDown ? { url: now.url, problem: now.problem ?? '' } : { url: now.url },
  }
}

export class AddressMonitor extends PeriodicJob {
  readonly #deps: AddressMonitorDeps

  constructor(deps: AddressMonitorDeps) {
    super(deps.urls.length === 0 ? 0 : deps.everyMs, 0)
    this.#deps = deps
  }

  protected async run(): Promise<void> {
    const addresses = await listPublicAddresses(this.#deps.db, this.#deps.urls)
    await Promise.all(addresses.map((address) => this.#check(address)))
  }

  protected onError(error: unknown): void {
    this.#deps.log.warn({ err: error }, 'address monitor failed')
  }

  async #check(before: PublicAddress): Promise<void> {
    const { db, log } = this.#deps
    const result = await checkAddress(before.url)
    if (this.isClosed) return
    const now = await recordAddressCheck(db, before, result)
    const notification = notificationFor(before, now)
    if (notification === null) return
    log.warn({ url: now.url, why: now.problem }, `public address ${now.isHealthy ? 'up' : 'down'}`)
    await raiseNotification(db, notification)
  }
}
