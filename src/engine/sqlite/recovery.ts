/**
 * Recovery at startup: restores from the disk the ledger as of the last commit, and the rate limits of the last minute.
 */
import type { Db } from '../../db/db.ts'
import { joinSum, splitSumSql } from '../../db/money-sums.ts'
import { sql, type OwnersTable } from '../../db/schema/schema.ts'
import type { LedgerState as LedgerOnDisk } from '../../db/read-ledger.ts'
import type { Store } from '../../db/sqlite/store.ts'
import { restoreState, type StoredOwner } from '../../ledger/checkpoint.ts'
import type { Held, LedgerEvent } from '../../ledger/events.ts'
import { decodeEvents } from '../../ledger/journal.ts'
import type { LedgerState } from '../../ledger/state.ts'
import { RateLimiter, subjectsOf } from '../../limits/rate-limiter.ts'
import { windowSeconds } from '../../limits/sliding-window.ts'

/** Slightly longer than a window. */
const rateHistoryMs = (windowSeconds + 1) * 1000
const pageRows = 200

export interface RecoveredLedger {
  readonly state: LedgerState
  readonly rates: RateLimiter
  readonly lastCommit: number
}

export function storedOwner(row: OwnersTable): StoredOwner {
  return {
    balance: row.balance_nanos,
    dayEnd: row.day_end,
    daySpent: row.day_spent_nanos,
    dayRequests: row.day_requests,
    monthEnd: row.month_end,
    monthSpent: row.month_spent_nanos,
    totalSpent: row.total_spent_nanos,
    overran: row.flags === 1,
  }
}

/** The sum may exceed 64 bits of nanos. */
async function readOverrun(db: Db): Promise<bigint> {
  const row = await db.first<{ sum_units: number; sum_rest_nanos: bigint }>({
    sql: `select ${splitSumSql('amount_nanos', 'sum')} from entries where kind = 'overrun'`,
    parameters: [],
  })
  return row ? joinSum(row.sum_units, row.sum_rest_nanos) : 0n
}

/** The events of all commits since a time, newest last. Reads from the journal's end, independently of the checkpoint. */
async function eventsSince(db: Db, since: number): Promise<LedgerEvent[]> {
  const query = sql.selectFrom('journal').select(['seq', 'at', 'body']).orderBy('seq', 'desc').limit(pageRows)
  const bodies: string[] = []
  let before = Number.MAX_SAFE_INTEGER
  for (;;) {
    const page = await db.all(query.where('seq', '<', before))
    for (const { seq, at, body } of page) {
      if (at < since) return bodies.toReversed().flatMap(decodeEvents)
      bodies.push(body)
      before = seq
    }
    if (page.length < pageRows) return bodies.toReversed().flatMap(decodeEvents)
  }
}

/** Counts the requests that were admitted in the last minute, with their actual tokens. */
function recoverRates(rates: RateLimiter, events: readonly LedgerEvent[], since: number): void {
  const held = new Map<string, Held>()
  const tokens = new Map<string, number>()
  for (const event of events) {
    if (event.kind === 'held') {
      held.set(event.id, event)
      tokens.set(event.id, event.inputTokens)
    } else if (event.kind === 'settled') tokens.set(event.id, event.usage.input + event.usage.output)
    else if (event.kind === 'released') tokens.set(event.id, 0)
  }
  for (const hold of held.values()) {
    if (hold.at >= since) rates.restore(subjectsOf(hold), hold.at, tokens.get(hold.id) ?? 0)
  }
}

/** The state as of the last commit that was read. */
export async function recoverState(db: Db, read: LedgerOnDisk): Promise<LedgerState> {
  return restoreState({
    holds: read.checkpoint?.holds ?? null,
    journal: read.journal.map((row) => row.body),
    owners: read.owners.map((row) => [row.id, storedOwner(row)] as const),
    overrun: await readOverrun(db),
  })
}

/** `now`: milliseconds since the epoch. Throws if the journal's chain is broken. */
export async function recoverLedger(store: Store, now: number): Promise<RecoveredLedger> {
  const since = now - rateHistoryMs
  const [read, events] = await Promise.all([store.readLedger(), eventsSince(store.db, since)])
  const state = await recoverState(store.db, read)
  const rates = new RateLimiter()
  recoverRates(rates, events, since)
  return { state, rates, lastCommit: read.lastSeq }
}
