/**
 * Housekeeping every few minutes: deletes expired sessions, links, pins and items of responses, deletes unused keys if configured, and notifies an
 * account if a key is used far more than usual.
 */
import { deleteStaleKeys } from '../accounts/keys.ts'
import type { Change } from '../db/change.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { formatAmount } from '../lib/money.ts'
import { deleteExpiredAttempts } from '../limits/login-throttle.ts'
import type { Log } from '../lib/log.ts'
import { raiseNotification } from '../notifications/notifications.ts'
import { PeriodicJob } from './periodic-job.ts'
import { deleteExpiredSessions } from '../users/sessions.ts'
import { deleteExpiredItems } from '../usage/response-items.ts'
import { deleteExpiredPins } from '../usage/response-pins.ts'
import { keysUsedInHour, findSpendAnomalies, type SpendAnomaly } from '../usage/spend-anomalies.ts'

export interface HousekeepingDeps {
  readonly db: Db
  readonly log: Log
  /** The platform's currency. */
  readonly currency: string
  /** 0: unused keys are not deleted. */
  readonly keysDeletedMs: number
  /** How long items of responses are kept after their last use. */
  readonly responseItemsTtlMs: number
  /** Resolves when every thread has applied the changes. */
  readonly publishChanges: (changes: readonly Change[]) => Promise<void>
}

type AnomalyDeps = Pick<HousekeepingDeps, 'db' | 'currency'>

const everyMs = 5 * 60_000
const hourMs = 3_600_000
/** How many keys of an hour are checked, the most expensive first. */
const maxKeys = 500
const by = 'housekeeping'

export class Housekeeping extends PeriodicJob {
  readonly #deps: HousekeepingDeps

  constructor(deps: HousekeepingDeps) {
    super(everyMs)
    this.#deps = deps
  }

  protected run(): Promise<void> {
    return runHousekeeping(this.#deps, Date.now())
  }

  protected onError(error: unknown): void {
    this.#deps.log.warn({ err: error }, 'housekeeping failed')
  }
}

export async function runHousekeeping(
  { db, currency, keysDeletedMs, responseItemsTtlMs, publishChanges }: HousekeepingDeps,
  now: number,
): Promise<void> {
  await deleteExpiredSessions(db, now)
  await deleteExpiredAttempts(db, now)
  await deleteExpiredPins(db, now)
  await deleteExpiredItems(db, now, responseItemsTtlMs)
  if (keysDeletedMs > 0) {
    const { value, changes } = await deleteStaleKeys(db, now - keysDeletedMs, by)
    if (value > 0) await publishChanges(changes)
  }
  await notifyUnusualUse({ db, currency }, now)
}

/** Checks the current hour and the previous one, whose last requests may have ended since the last run. */
async function notifyUnusualUse({ db, currency }: AnomalyDeps, now: number): Promise<void> {
  const hour = Math.floor(now / hourMs) * hourMs
  for (const each of [hour - hourMs, hour]) {
    const keys = await keysUsedInHour(db, each, maxKeys)
    for (const [key, unusual] of await findSpendAnomalies(db, keys, each))
      await notifyUnusualKey({ db, currency }, key, unusual)
  }
}

async function notifyUnusualKey(
  { db, currency }: AnomalyDeps,
  keyId: string,
  unusual: SpendAnomaly,
): Promise<void> {
  const query = sql.selectFrom('keys').select(['account_id', 'name']).where('id', '=', keyId)
  const key = await db.first(query)
  if (key === undefined) return
  await raiseNotification(db, {
    audience: key.account_id,
    kind: 'key',
    severity: 'warning',
    subject: `key:${keyId}`,
    period: `unusual ${unusual.hour}`,
    code: 'key_unusual',
    params: {
      key: key.name,
      cost: formatAmount(unusual.costNanos),
      usual: formatAmount(unusual.baselineNanos),
      currency,
    },
  })
}
