/** Objectives: which share of the requests that are ours to answer has to be answered, per model or for all. */
import { refuse } from '../errors.ts'
import { auditRow } from '../db/audit.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'

/** From 0 to 1. */
export interface Objectives {
  /** For models without one of their own. */
  readonly standard: number
  readonly own: ReadonlyMap<string, number>
}

const million = 1_000_000

export function objectiveFor({ own, standard }: Objectives, model: string): number {
  return own.get(model) ?? standard
}

/** `standardPercent`: the deployment's, AVAILABILITY_OBJECTIVE. */
export async function readObjectives(db: Db, standardPercent: number): Promise<Objectives> {
  const rows = await db.all(sql.selectFrom('objectives').selectAll())
  const own = new Map(rows.map((row) => [row.model, row.parts_per_million / million]))
  return { standard: Math.round(standardPercent * 10_000) / million, own }
}

/** `percent` null: the deployment's again. Refuses with 400 naming the field, 404 for an unknown model. */
export async function setObjective(db: Db, model: string, percent: number | null, by: string): Promise<void> {
  const known = await db.first(
    sql.selectFrom('models').select('id').where('id', '=', model).where('deleted_at', 'is', null),
  )
  if (known === undefined) throw refuse('not_found', { param: 'model', message: 'There is no such model.' })
  const audit = auditRow(by, 'objective.set', model, { percent })
  if (percent === null) {
    await db.write(sql.deleteFrom('objectives').where('model', '=', model), audit)
    return
  }
  const partsPerMillion = Math.round(percent * 10_000)
  if (partsPerMillion < 500_000 || partsPerMillion > 999_999) {
    const message = 'objective_percent has to be a number from 50 to 99.9999.'
    throw refuse('invalid_request', { param: 'objective_percent', message })
  }
  const row = { model, parts_per_million: partsPerMillion }
  const insertion = sql.insertInto('objectives').values(row)
  await db.write(
    insertion.onConflict((conflict) => conflict.column('model').doUpdateSet(row)),
    audit,
  )
}
