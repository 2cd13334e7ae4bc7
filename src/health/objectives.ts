/** Availability objectives (SLOs): the share of requests that must be answered, by model or for all models. */
import { apiError } from '../errors.ts'
import { auditStatement } from '../db/audit.ts'
import { auditChanges } from '../db/audit-changes.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'

/** Shares from 0 to 1. */
export interface Objectives {
  /** For models without their own objective. */
  readonly fallback: number
  readonly perModel: ReadonlyMap<string, number>
}

const partsPerUnit = 1_000_000

export function objectiveFor({ perModel, fallback }: Objectives, model: string): number {
  return perModel.get(model) ?? fallback
}

/** `percent`: AVAILABILITY_OBJECTIVE. */
export function defaultObjectives(percent: number): Objectives {
  return { fallback: Math.round(percent * 10_000) / partsPerUnit, perModel: new Map() }
}

/** `defaultPercent`: AVAILABILITY_OBJECTIVE. */
export async function readObjectives(db: Db, defaultPercent: number): Promise<Objectives> {
  const rows = await db.all(sql.selectFrom('objectives').selectAll())
  const perModel = new Map(rows.map((row) => [row.model, row.parts_per_million / partsPerUnit]))
  return { ...defaultObjectives(defaultPercent), perModel }
}

/** `percent` null: restores the default. Writes nothing if it is set already. Throws 400 naming the field, 404 for an unknown model. */
export async function setObjective(db: Db, model: string, percent: number | null, by: string): Promise<void> {
  const known = await db.first(
    sql.selectFrom('models').select('id').where('id', '=', model).where('deleted_at', 'is', null),
  )
  if (known === undefined) throw apiError('not_found', { param: 'model', message: 'Model not found.' })
  const query = sql.selectFrom('objectives').select('parts_per_million').where('model', '=', model)
  const before = await db.first(query)
  const percentBefore = before === undefined ? null : before.parts_per_million / 10_000
  const changes = auditChanges({ objectivePercent: percentBefore }, { objectivePercent: percent })
  if (changes === null) return
  const audit = auditStatement(by, 'objective.set', model, changes)
  if (percent === null) {
    await db.write(sql.deleteFrom('objectives').where('model', '=', model), audit)
    return
  }
  const partsPerMillion = Math.round(percent * 10_000)
  if (partsPerMillion < 500_000 || partsPerMillion > 999_999) {
    const message = 'Invalid `objective_percent`: must be a number between 50 and 99.9999.'
    throw apiError('invalid_request', { param: 'objective_percent', message })
  }
  const row = { model, parts_per_million: partsPerMillion }
  const insertion = sql.insertInto('objectives').values(row)
  await db.write(
    insertion.onConflict((conflict) => conflict.column('model').doUpdateSet(row)),
    audit,
  )
}
