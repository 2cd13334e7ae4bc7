/** The audit log: who did what to which object, written in the same transaction as the change. */

import { expectChanges, type Db } from './db.ts'
import type { Statement } from './statement.ts'
import { sql } from './schema/schema.ts'

export interface AuditRecord {
  readonly id: number
  readonly at: number
  readonly actor: string
  readonly action: string
  readonly object: string
  readonly detail: Record<string, unknown>
}

function encodeBigInt(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}

/** Returns the statement to add to a batch. `detail` must not contain secrets: name what changed, not credentials. */
export function auditStatement(
  actor: string,
  action: string,
  object: string,
  detail: object = {},
): Statement {
  const row = { at: Date.now(), actor, action, object, detail: JSON.stringify(detail, encodeBigInt) }
  return expectChanges(sql.insertInto('audit').values(row), 1)
}

export interface AuditPage {
  readonly limit: number
  /** Only records older than this id. */
  readonly before?: number
  readonly object?: string
  readonly actor?: string
  /** At or after this time, in milliseconds since the epoch. */
  readonly from?: number
  /** Before this time. */
  readonly to?: number
}

/** Lists records, newest first. */
export async function listAudit(db: Db, page: AuditPage): Promise<AuditRecord[]> {
  let query = sql.selectFrom('audit').selectAll().orderBy('id', 'desc').limit(page.limit)
  if (page.before !== undefined) query = query.where('id', '<', page.before)
  if (page.object !== undefined) query = query.where('object', '=', page.object)
  if (page.actor !== undefined) query = query.where('actor', '=', page.actor)
  if (page.from !== undefined) query = query.where('at', '>=', page.from)
  if (page.to !== undefined) query = query.where('at', '<', page.to)
  const rows = await db.report(query)
  return rows.map((row) => ({ ...row, detail: JSON.parse(row.detail) as Record<string, unknown> }))
}
