/** The audit log: who did what to which object, written in the same batch as the change itself. */

import { expecting, type Db } from './db.ts'
import type { Statement } from './messages.ts'
import { sql } from './schema/schema.ts'

export interface AuditRecord {
  readonly id: number
  readonly at: number
  readonly actor: string
  readonly action: string
  readonly object: string
  readonly detail: Record<string, unknown>
}

function plain(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}

/** The row to add to a batch. `detail` carries no secret: callers name what changed, not credentials. */
export function auditRow(actor: string, action: string, object: string, detail: object = {}): Statement {
  const row = { at: Date.now(), actor, action, object, detail: JSON.stringify(detail, plain) }
  return expecting(sql.insertInto('audit').values(row), 1)
}

export interface AuditPage {
  readonly limit: number
  /** Only records older than this id. */
  readonly before?: number
  readonly object?: string
}

/** Newest first. */
export async function listAudit(db: Db, page: AuditPage): Promise<AuditRecord[]> {
  let query = sql.selectFrom('audit').selectAll().orderBy('id', 'desc').limit(page.limit)
  if (page.before !== undefined) query = query.where('id', '<', page.before)
  if (page.object !== undefined) query = query.where('object', '=', page.object)
  const rows = await db.report(query)
  return rows.map((row) => ({ ...row, detail: JSON.parse(row.detail) as Record<string, unknown> }))
}
