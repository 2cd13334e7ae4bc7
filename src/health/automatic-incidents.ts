/** Incidents that the incident monitor opens and closes. At most one per model is open at any time. */
import { auditStatement } from '../db/audit.ts'
import { expectChanges, type Db } from '../db/db.ts'
import { sql, type IncidentsTable } from '../db/schema/schema.ts'
import { isUniqueViolation, isExpectationFailureOf } from '../db/store-error.ts'
import { newId } from '../lib/ids.ts'
import { incidentById, postRow, type Incident, type IncidentSeverity, type PostCode } from './incidents.ts'

/** If a model fails again within this time, its last incident is reopened. */
const reopenWindowMs = 10 * 60_000
const auditActor = 'watch'

/** The latest automatic incident of a model, as the incident monitor needs it. */
export interface MonitoredIncident {
  readonly id: string
  readonly model: string
  readonly severity: IncidentSeverity
  readonly openedAt: number
  readonly closedAt: number | null
  /** When it was last opened, or changed manually since. */
  readonly updatedAt: number
}

/** The English messages of posts. The console translates them by code. */
const messages: Record<PostCode, string> = {
  failing: 'Requests to this model are failing more often than its objective allows. We are investigating.',
  failing_again: 'Requests to this model are failing again.',
  recovered: 'This model has recovered.',
  quiet: 'There have been no requests to this model for a while, and therefore no failures.',
}

/** The default title. */
export function automaticTitle(model: string): string {
  return `${model}: requests are failing`
}

/** Open incidents, and those closed so recently that they may be reopened; by model. */
export async function listMonitoredIncidents(db: Db, now: number): Promise<Map<string, MonitoredIncident>> {
  const rows = await db.all(
    sql
      .selectFrom('incidents')
      .select(['id', 'watched_model', 'severity', 'opened_at', 'closed_at', 'updated_at'])
      .where('watched_model', 'is not', null)
      .where((build) =>
        build.or([build('closed_at', 'is', null), build('closed_at', '>', now - reopenWindowMs)]),
      )
      .orderBy('opened_at'),
  )
  const watched = new Map<string, MonitoredIncident>()
  for (const row of rows) {
    const model = row.watched_model ?? ''
    const isOpen = watched.get(model)?.closedAt === null
    if (isOpen) continue
    const { id, severity, opened_at: openedAt, closed_at: closedAt, updated_at: updatedAt } = row
    watched.set(model, { id, model, severity, openedAt, closedAt, updatedAt })
  }
  return watched
}

/** Opens an incident, or reopens the previous one; null if another node just did. */
export async function openAutomaticIncident(
  db: Db,
  about: { readonly model: string; readonly severity: IncidentSeverity; readonly at: number },
  previous: MonitoredIncident | undefined,
): Promise<Incident | null> {
  const { model, severity, at } = about
  try {
    if (previous !== undefined) return await reopenIncident(db, previous.id, about)
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
      // An unlisted model is not public.
      is_public: listed?.listed ?? 0,
      opened_at: at,
      closed_at: null,
      updated_at: at,
    }
    await db.write(
      sql.insertInto('incidents').values(row),
      postRow(row.id, { at, status: 'investigating', code: 'failing', message: messages.failing }),
      auditStatement(auditActor, 'incident.open', row.id, { model, severity }),
    )
    return await incidentById(db, row.id)
  } catch (error) {
    if (isUniqueViolation(error, 'incidents.watched_model') || isExpectationFailureOf(error, 0)) return null
    throw error
  }
}

async function reopenIncident(
  db: Db,
  id: string,
  { severity, at }: { readonly severity: IncidentSeverity; readonly at: number },
): Promise<Incident> {
  const set = { status: 'investigating', severity, closed_at: null, updated_at: at } as const
  const update = sql.updateTable('incidents').set(set).where('id', '=', id)
  await db.write(
    expectChanges(update.where('closed_at', 'is not', null), 1),
    postRow(id, { at, status: 'investigating', code: 'failing_again', message: messages.failing_again }),
    auditStatement(auditActor, 'incident.reopen', id, { severity }),
  )
  return incidentById(db, id)
}

/** Raises the severity, without a post. */
export async function raiseAutomaticSeverity(db: Db, id: string, severity: IncidentSeverity): Promise<void> {
  await db.write(sql.updateTable('incidents').set({ severity }).where('id', '=', id))
}

/** Closes an incident; null if it was just closed by someone else. */
export async function closeAutomaticIncident(
  db: Db,
  id: string,
  code: 'recovered' | 'quiet',
  at: number,
): Promise<Incident | null> {
  const set = { status: 'resolved', closed_at: at, updated_at: at } as const
  const update = sql.updateTable('incidents').set(set).where('id', '=', id).where('closed_at', 'is', null)
  try {
    await db.write(
      expectChanges(update, 1),
      postRow(id, { at, status: 'resolved', code, message: messages[code] }),
      auditStatement(auditActor, 'incident.close', id, { code }),
    )
  } catch (error) {
    if (isExpectationFailureOf(error, 0)) return null
    throw error
  }
  return incidentById(db, id)
}
