/** Incidents that the watch over the models opens and closes. Of one model, at most one is open at any time. */
import { auditRow } from '../db/audit.ts'
import { expecting, type Db } from '../db/db.ts'
import { sql, type IncidentsTable } from '../db/schema/schema.ts'
import { isTaken, isUnmet } from '../db/store-error.ts'
import { newId } from '../lib/ids.ts'
import { incidentById, postRow, type Incident, type IncidentSeverity, type PostCode } from './incidents.ts'

/** One that is back within this time is the same incident, opened again. */
const sameMs = 10 * 60_000
const by = 'watch'

/** The latest automatic incident of a model, as the watch has to know it. */
export interface WatchedIncident {
  readonly id: string
  readonly model: string
  readonly severity: IncidentSeverity
  readonly openedAt: number
  readonly closedAt: number | null
  /** When it was opened last, or changed by hand since. */
  readonly updatedAt: number
}

/** What the posts say in English; pages for people say the same in their language, by code. */
const messages: Record<PostCode, string> = {
  failing: 'Requests to this model are failing more often than its objective allows. We are looking into it.',
  failing_again: 'Requests to this model are failing again.',
  recovered: 'Requests to this model are answered again as they should be.',
  quiet: 'There were no requests to this model for a while, and so no failures.',
}

/** The title until somebody gives another. */
export function automaticTitle(model: string): string {
  return `${model}: requests are failing`
}

/** Those that are open, and those closed so lately that they may be opened again; by model. */
export async function watchedIncidents(db: Db, now: number): Promise<Map<string, WatchedIncident>> {
  const rows = await db.all(
    sql
      .selectFrom('incidents')
      .select(['id', 'watched_model', 'severity', 'opened_at', 'closed_at', 'updated_at'])
      .where('watched_model', 'is not', null)
      .where((build) => build.or([build('closed_at', 'is', null), build('closed_at', '>', now - sameMs)]))
      .orderBy('opened_at'),
  )
  const watched = new Map<string, WatchedIncident>()
  for (const row of rows) {
    const model = row.watched_model ?? ''
    const isOpen = watched.get(model)?.closedAt === null
    if (isOpen) continue
    const { id, severity, opened_at: openedAt, closed_at: closedAt, updated_at: updatedAt } = row
    watched.set(model, { id, model, severity, openedAt, closedAt, updatedAt })
  }
  return watched
}

/** Opens the model's incident, or the one that was just closed; null when somebody else just did. */
export async function openAutomatic(
  db: Db,
  about: { readonly model: string; readonly severity: IncidentSeverity; readonly at: number },
  former: WatchedIncident | undefined,
): Promise<Incident | null> {
  const { model, severity, at } = about
  try {
    if (former !== undefined) return await reopen(db, former.id, about)
    const listed = await db.first(
      sql.selectFrom('models').select('listed').where('id', '=', model).where('deleted_at', 'is', null),
    )
    const row: IncidentsTable = {
      id: newId('inc'),
      title: automaticTitle(model),
      status: 'investigating',
      severity,
      models: JSON.stringify([model]),
      watched_model: model,
      // What is not listed is not for everybody.
      is_public: listed?.listed ?? 0,
      opened_at: at,
      closed_at: null,
      updated_at: at,
    }
    await db.write(
      sql.insertInto('incidents').values(row),
      postRow(row.id, { at, status: 'investigating', code: 'failing', message: messages.failing }),
      auditRow(by, 'incident.open', row.id, { model, severity }),
    )
    return await incidentById(db, row.id)
  } catch (error) {
    if (isTaken(error, 'incidents.watched_model') || isUnmet(error, 0)) return null
    throw error
  }
}

async function reopen(
  db: Db,
  id: string,
  { severity, at }: { readonly severity: IncidentSeverity; readonly at: number },
): Promise<Incident> {
  const set = { status: 'investigating', severity, closed_at: null, updated_at: at } as const
  const update = sql.updateTable('incidents').set(set).where('id', '=', id)
  await db.write(
    expecting(update.where('closed_at', 'is not', null), 1),
    postRow(id, { at, status: 'investigating', code: 'failing_again', message: messages.failing_again }),
    auditRow(by, 'incident.reopen', id, { severity }),
  )
  return incidentById(db, id)
}

/** It got worse: told by its severity alone. */
export async function worsenAutomatic(db: Db, id: string, severity: IncidentSeverity): Promise<void> {
  await db.write(sql.updateTable('incidents').set({ severity }).where('id', '=', id))
}

/** Closes it; null when somebody else just did. */
export async function closeAutomatic(
  db: Db,
  id: string,
  code: 'recovered' | 'quiet',
  at: number,
): Promise<Incident | null> {
  const set = { status: 'resolved', closed_at: at, updated_at: at } as const
  const update = sql.updateTable('incidents').set(set).where('id', '=', id).where('closed_at', 'is', null)
  try {
    await db.write(
      expecting(update, 1),
      postRow(id, { at, status: 'resolved', code, message: messages[code] }),
      auditRow(by, 'incident.close', id, { code }),
    )
  } catch (error) {
    if (isUnmet(error, 0)) return null
    throw error
  }
  return incidentById(db, id)
}
