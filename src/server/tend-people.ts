/**
 * What is done for people and keys now and then: sessions and links that have ended are thrown away, keys that nobody
 * uses are deleted where that is the rule, and an account hears of a key that is used far more than it was.
 */
import { deleteStaleKeys } from '../accounts/keys.ts'
import type { Change } from '../db/change.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { decimalOf } from '../lib/money.ts'
import { forgetAttempts } from '../limits/attempts.ts'
import type { Log } from '../lib/log.ts'
import { raiseNotice } from '../notifications/notifications.ts'
import { sweepSessions } from '../users/sessions.ts'
import { currency } from '../usage/request-records.ts'
import { keysUsedIn, unusualHours, type UnusualHour } from '../usage/spend-anomalies.ts'

export interface TendParts {
  readonly db: Db
  readonly log: Log
  /** 0: no key is deleted. */
  readonly keysDeletedMs: number
  /** Tells every thread what has changed. */
  readonly announce: (changes: readonly Change[]) => Promise<void>
}

const everyMs = 5 * 60_000
const hourMs = 3_600_000
/** Of an hour, so many keys are looked at, the dearest first. */
const keysMost = 500
const by = 'housekeeping'

export class PeopleTending {
  readonly #parts: TendParts
  readonly #timer: NodeJS.Timeout
  #tending: Promise<void> = Promise.resolve()

  constructor(parts: TendParts) {
    this.#parts = parts
    this.#timer = setInterval(() => {
      this.#tending = this.#tending.then(() => this.#tend())
    }, everyMs)
    this.#timer.unref()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#tending
  }

  async #tend(): Promise<void> {
    try {
      await tendPeople(this.#parts, Date.now())
    } catch (error) {
      this.#parts.log.warn({ err: error }, 'people and keys could not be tended')
    }
  }
}

export async function tendPeople({ db, keysDeletedMs, announce }: TendParts, now: number): Promise<void> {
  await sweepSessions(db, now)
  await forgetAttempts(db, now)
  if (keysDeletedMs > 0) {
    const { value, changes } = await deleteStaleKeys(db, now - keysDeletedMs, by)
    if (value > 0) await announce(changes)
  }
  await tellUnusual(db, now)
}

/** Looks at the hour that runs and at the one before, whose last requests may have come since the last look. */
async function tellUnusual(db: Db, now: number): Promise<void> {
  const hour = Math.floor(now / hourMs) * hourMs
  for (const each of [hour - hourMs, hour]) {
    const keys = await keysUsedIn(db, each, keysMost)
    for (const [key, unusual] of await unusualHours(db, keys, each)) await tell(db, key, unusual)
  }
}

async function tell(db: Db, keyId: string, unusual: UnusualHour): Promise<void> {
  const query = sql.selectFrom('keys').select(['account_id', 'name']).where('id', '=', keyId)
  const key = await db.first(query)
  if (key === undefined) return
  await raiseNotice(db, {
    audience: key.account_id,
    kind: 'key',
    severity: 'warning',
    subject: `key:${keyId}`,
    period: `unusual ${unusual.hour}`,
    code: 'key_unusual',
    params: {
      key: key.name,
      cost: decimalOf(unusual.costNanos),
      usual: decimalOf(unusual.usualNanos),
      currency,
    },
  })
}
