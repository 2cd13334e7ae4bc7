/** Whether bills of retired nodes may be charged, and within which caps. */
import type { Db } from '../../db/db.ts'
import { hasOlderNodes } from '../../db/postgres/nodes.ts'
import type { LockedRows } from '../../db/postgres/lock-batch.ts'
import type { Caps } from '../../ledger/caps.ts'
import type { Hold } from '../../ledger/state.ts'

/** The first release that reads charges of late bills from the journal. */
const chargesLateSince = [0, 6] as const

export type CapsOf = (hold: Hold) => Caps

/**
 * `null`: late bills are not charged, because nodes of an earlier release run, or none is among these rows. It is asked
 * for while the rows are locked, but only after a node was retired.
 */
export async function lateCapsFor(
  { holds }: Pick<LockedRows, 'holds'>,
  { db, capsOf }: { readonly db: Pick<Db, 'all'>; readonly capsOf?: CapsOf | undefined },
): Promise<CapsOf | null> {
  if (!capsOf || holds.every((row) => row.retired_at === null)) return null
  return (await hasOlderNodes(db, chargesLateSince)) ? null : capsOf
}
