/** How much keys have spent in their open periods, as stored with their ledger owners. */
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'

export interface KeySpend {
  readonly todayNanos: bigint
  readonly monthNanos: bigint
  readonly totalNanos: bigint
}

export const noSpend: KeySpend = { todayNanos: 0n, monthNanos: 0n, totalNanos: 0n }

/** By key id. Ended periods count as zero. */
export async function spendByKeys(
  db: Db,
  keyIds: readonly string[],
  now: number,
): Promise<Map<string, KeySpend>> {
  if (keyIds.length === 0) return new Map()
  const ids = keyIds.map((id) => `k:${id}`)
  const rows = await db.all(sql.selectFrom('owners').selectAll().where('id', 'in', ids))
  return new Map(
    rows.map((row) => [
      row.id.slice(2),
      {
        todayNanos: row.day_end > now ? row.day_spent_nanos : 0n,
        monthNanos: row.month_end > now ? row.month_spent_nanos : 0n,
        totalNanos: row.total_spent_nanos,
      },
    ]),
  )
}
