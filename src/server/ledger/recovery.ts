/**
 * What a start makes of the disk: the ledger as of the last commit, and the rates of the last minute.
 */
import type { Db } from '../../db/db.ts'
import { nanosOfSum, splitSum } from '../../db/money-sums.ts'
import { sql, type OwnersTable } from '../../db/schema/schema.ts'
import type { LedgerState as LedgerOnDisk } from '../../db/read-ledger.ts'
import type { Store } from '../../db/store.ts'
import { restoreState, type StoredOwner } from '../../ledger/checkpoint.ts'
import type { Held, LedgerEvent } from '../../ledger/events.ts'
import { decodeEvents } from '../../ledger/journal.ts'
import type { LedgerState } from '../../ledger/state.ts'
import { Rates, subjectsOf } from '../../limits/rate-limiter.ts'
import { windowSeconds } from '../../limits/sliding-window.ts'

/** A little more than the windows see. */
const rememberedMs = (windowSeconds + 1) * 1000
const pageRows = 200

export interface RestoredLedger {
  readonly state: LedgerState
  readonly rates: Rates
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

/** All together may be more than 64 bits of nanos hold. */
async function overrunOnDisk(db: Db): Promise<bigint> {
  const row = await db.first<{ sum_yuan: number; sum_rest_nanos: bigint }>({
    sql: `select ${splitSum('amount_nanos', 'sum')} from entries where kind = 'overrun'`,
    parameters: [],
  })
  return row ? nanosOfSum(row.sum_yuan, row.sum_rest_nanos) : 0n
}

/** The events of the commits since a moment, newest commits last. Read from the journal's end, wherever its checkpoint is. */
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

/** Counts what was admitted in the last minute, with the tokens that it turned out to have. */
function rememberRates(rates: Rates, events: readonly LedgerEvent[], since: number): void {
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
    if (hold.at >= since) rates.remember(subjectsOf(hold), hold.at, tokens.get(hold.id) ?? 0)
  }
}

/** The state as of the last commit that was read. */
export async function stateOnDisk(db: Db, read: LedgerOnDisk): Promise<LedgerState> {
  return restoreState({
    holds: read.checkpoint?.holds ?? null,
    journal: read.journal.map((row) => row.body),
    owners: read.owners.map((row) => [row.id, storedOwner(row)] as const),
    overrun: await overrunOnDisk(db),
  })
}

/** `now`: milliseconds since the epoch. Throws when the journal's chain is broken. */
export async function restoreLedger(store: Store, now: number): Promise<RestoredLedger> {
  const since = now - rememberedMs
  const [read, events] = await Promise.all([store.readLedger(), eventsSince(store.db, since)])
  const state = await stateOnDisk(store.db, read)
  const rates = new Rates()
  rememberRates(rates, events, since)
  return { state, rates, lastCommit: read.lastSeq }
}
