/** Owners' rows as they are at this moment, for whoever only looks. */

import type { Db } from '../db.ts'
import { sharedOwnerColumns, type SharedOwnerRow } from './ledger-rows.ts'

export function ownerRowsNow(db: Db, ids: readonly string[]): Promise<SharedOwnerRow[]> {
  return db.all({
    sql: `select ${sharedOwnerColumns.join(', ')} from owners where id in (${ids.map(() => '?').join(', ')})`,
    parameters: ids,
  })
}
