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

export class AddressMonitor {
  readonly #deps: AddressMonitorDeps
  #timer: NodeJS.Timeout | undefined
  #checking: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(deps: AddressMonitorDeps) {
    this.#deps = deps
    if (deps.urls.length > 0) this.#schedule()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#checking
  }

  #schedule(): void {
    this.#checking = this.#checkAll().then(() => {
      if (this.#isClosed) return
      this.#timer = setTimeout(() => this.#schedule(), this.#deps.everyMs)
      this.#timer.unref()
    })
  }

  async #checkAll(): Promise<void> {
    const { db, log, urls } = this.#deps
    try {
      const addresses = await listPublicAddresses(db, urls)
      await Promise.all(addresses.map((address) => this.#check(address)))
    } catch (error) {
      log.warn({ err: error }, 'address monitor failed')
    }
  }

  async #check(before: PublicAddress): Promise<void> {
    const { db, log } = this.#deps
    const result = await checkAddress(before.url)
    if (this.#isClosed) return
    const now = await recordAddressCheck(db, before, result)
    const notification = notificationFor(before, now)
    if (notification === null) return
    log.warn({ url: now.url, why: now.problem }, `public address ${now.isHealthy ? 'up' : 'down'}`)
    await raiseNotification(db, notification)
  }
}
