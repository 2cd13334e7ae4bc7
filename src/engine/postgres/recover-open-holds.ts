/** Ends the holds that an earlier process of this node left open: by their saved settlements, or else at their last marks. */
import type { Db } from '../../db/db.ts'
import { listOpenHolds, listRetiredHolds } from '../../db/postgres/nodes.ts'
import type { LocalJournal } from '../../db/sqlite/local-journal.ts'
import { decodeHold } from '../../ledger/checkpoint.ts'
import type { Hold } from '../../ledger/state.ts'
import type { ClusterRateLimiter } from '../../limits/local-rate-limiter.ts'
import { subjectsOf } from '../../limits/rate-limiter.ts'
import type { Authority } from '../authority.ts'
import type { NodeJournal } from './node-journal.ts'
import type { SharedLedger } from './shared-ledger.ts'
import { markOfRow } from './shared-rows.ts'

/** A request of a process that has exited no longer counts as concurrent. */
export function releaseRateSlot(rates: ClusterRateLimiter, hold: Hold): void {
  rates.release(hold.id, subjectsOf(hold))
}

export interface RecoverOpenHoldsDeps {
  readonly db: Db
  readonly id: string
  readonly local: LocalJournal
  readonly journal: NodeJournal
  readonly ledger: SharedLedger
  readonly rates: ClusterRateLimiter
  readonly authority: Authority
  readonly now: () => number
}

/** Returns how many holds it has ended. */
export async function recoverOpenHolds(deps: RecoverOpenHoldsDeps): Promise<number> {
  const { db, id: node, local, journal, ledger, rates, authority, now } = deps
  const rows = await listOpenHolds(db, node)
  for (const row of rows) {
    const hold = decodeHold(row.body, markOfRow(row))
    ledger.state.holds.set(row.id, hold)
    releaseRateSlot(rates, hold)
  }
  for (const { id, input, output } of local.contents.marks)
    ledger.holds.mark(id, { at: now(), inputTokens: input, outputTokens: output })
  // Their bills may be among the settlements.
  for (const row of await listRetiredHolds(db, node)) ledger.holds.addFormer(decodeHold(row.body, null))
  for (const { request, storedResponse, at } of journal.settlements())
    void authority.settle(request, storedResponse, at)
  for (const id of ledger.state.holds.keys()) void authority.expire(id)
  await ledger.drain()
  journal.removeAll()
  return rows.length
}
