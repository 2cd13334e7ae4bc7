/** The watch over our public addresses: each is looked at every minute, and operators hear when one fails or is back. */
import type { Db } from '../db/db.ts'
import { lookAt, noteLook, publicAddresses, type PublicAddress } from '../health/public-addresses.ts'
import type { Log } from '../lib/log.ts'
import { operator } from '../notifications/notification-kinds.ts'
import { raiseNotice, type NoticeInput } from '../notifications/notifications.ts'

export interface AddressWatchParts {
  readonly db: Db
  readonly log: Log
  readonly urls: readonly string[]
  readonly everyMs: number
}

/** One look that fails may be a lost packet. */
const failuresToTell = 2

function noticeOf(before: PublicAddress, now: PublicAddress): NoticeInput | null {
  const isDown = now.failures === failuresToTell
  const isBack = now.isWell === true && before.failures >= failuresToTell
  if (!isDown && !isBack) return null
  return {
    audience: operator,
    kind: 'address',
    severity: isDown ? 'critical' : 'info',
    subject: `address:${now.url}`,
    period: `${isDown ? 'down' : 'up'} ${now.since}`,
    code: isDown ? 'address_down' : 'address_up',
    params: isDown ? { url: now.url, problem: now.problem ?? '' } : { url: now.url },
  }
}

export class AddressWatch {
  readonly #parts: AddressWatchParts
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> = Promise.resolve()
  #isOver = false

  constructor(parts: AddressWatchParts) {
    this.#parts = parts
    if (parts.urls.length > 0) this.#begin()
  }

  async close(): Promise<void> {
    this.#isOver = true
    clearTimeout(this.#timer)
    await this.#looking
  }

  #begin(): void {
    this.#looking = this.#look().then(() => {
      if (this.#isOver) return
      this.#timer = setTimeout(() => this.#begin(), this.#parts.everyMs)
      this.#timer.unref()
    })
  }

  async #look(): Promise<void> {
    const { db, log, urls } = this.#parts
    try {
      const addresses = await publicAddresses(db, urls)
      await Promise.all(addresses.map((address) => this.#lookAt(address)))
    } catch (error) {
      log.warn({ err: error }, 'the public addresses could not be watched')
    }
  }

  async #lookAt(before: PublicAddress): Promise<void> {
    const { db, log } = this.#parts
    const look = await lookAt(before.url)
    if (this.#isOver) return
    const now = await noteLook(db, before, look)
    const notice = noticeOf(before, now)
    if (notice === null) return
    log.warn({ url: now.url, why: now.problem }, `a public address is ${now.isWell ? 'back' : 'down'}`)
    await raiseNotice(db, notice)
  }
}
