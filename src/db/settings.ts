/** Persistent settings of this installation. */

import type { Db, Query } from './db.ts'
import { sql } from './schema/schema.ts'

export async function getSetting(db: Db, name: string): Promise<string | undefined> {
  const row = await db.first(sql.selectFrom('settings').select('value').where('name', '=', name))
  return row?.value
}

/** Sets a setting, for a batch. */
export function setSettingStatement(name: string, value: string): Query {
  const insert = sql.insertInto('settings').values({ name, value })
  return insert.onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
}

export async function setSetting(db: Db, name: string, value: string): Promise<void> {
  await db.write(setSettingStatement(name, value))
}

/** Sets a setting unless it exists: several nodes may do so at the same time, and the first one wins. */
export function insertSettingStatement(name: string, value: string): Query {
  const insert = sql.insertInto('settings').values({ name, value })
  return insert.onConflict((conflict) => conflict.column('name').doNothing())
}

/** Deletes settings, for a batch. */
export function deleteSettingsStatement(...names: string[]): Query {
  return sql.deleteFrom('settings').where('name', 'in', names)
}
