/**
 * Incidents that the incident monitor opens and closes. At most one per model is open at any time, and one of the relay's
 * own API, whose monitored model is `noModel`; it affects the whole service.
 */
import { fieldsOf } from '../db/row-fields.ts'
import { auditStatement } from '../db/audit.ts'
import { expectChanges, writeIfFound, type Db } from '../db/db.ts'
import { sql, type IncidentsTable } from '../db/schema/schema.ts'
import { isUniqueViolation, isExpectationFailureOf } from '../db/store-error.ts'
import { newId } from '../lib/ids.ts'
import { isLongOutage, type AdmissionOutage } from './admission-outage.ts'
import { noModel, relayApi } from './availability.ts'
import { incidentById, postRow, type Incident, type IncidentSeverity, type PostCode } from './incidents.ts'

/** If a model fails again within this time, its last incident is reopened. */
const reopenWindowMs = 10 * 60_000
const auditActor = 'watch'

/** The latest automatic incident of a model. It is updated when it is opened again, or changed manually. */
export interface MonitoredIncident extends Pick<
  Incident,
  'id' | 'severity' | 'openedAt' | 'closedAt' | 'updatedAt'
> {
  readonly model: string
}

/** The English messages of posts. The status page translates them by code. */
const modelMessages: Record<PostCode, string> = {
  failing: 'Requests to this model are failing more often than its objective allows. We are investigating.',
  failing_again: 'Requests to this model are failing again.',
  recovered: 'This model has recovered.',
  quiet: 'There have been no requests to this model for a while, and therefore no failures.',
}
const relayApiMessages: Record<PostCode, string> = {
  failing: 'The service is rejecting requests. We are investigating.',
  failing_again: 'The service is rejecting requests again.',
  recovered: 'The service is accepting requests again.',
  quiet: 'There have been no requests for a while, and therefore no failures.',
}

function messageOf(model: string, code: PostCode): string {
  return (model === noModel ? relayApiMessages : modelMessages)[code]
}

/** The default title. */
export function automaticTitle(model: string): string {
  return model === noModel ? `${relayApi}: requests are rejected` : `${model}: requests are failing`
}

/** The incidents, newest first, with that of a current outage of this node if the store could not take it yet. */
export function withOutageIncident(
  incidents: readonly Incident[],
  outage: AdmissionOutage | null,
  now: number,
): readonly Incident[] {
  if (outage === null || !isLongOutage(outage, now)) return incidents
  const isRecorded = incidents.some(
    ({ watchedModel, closedAt }) => watchedModel === noModel && closedAt === null,
  )
  return isRecorded ? incidents : [outageIncident(outage), ...incidents]
}

function outageIncident({ id, since }: AdmissionOutage): Incident {
  const firstPost = {
    id: id.replace('inc', 'post'),
    at: since,
    status: 'investigating',
    code: 'failing',
  } as const
  return {
    id,
    title: automaticTitle(noModel),
    status: 'investigating',
    severity: 'critical',
    models: [],
    watchedModel: noModel,
    isPublic: true,
    openedAt: since,
    closedAt: null,
    updatedAt: since,
    posts: [{ ...firstPost, message: messageOf(noModel, 'failing') }],
  }
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
    watched.set(model, { model, ...fieldsOf(row) })
  }
  return watched
}

/** Whether incidents of a model are public: an unlisted model is not. */
async function isPublic(db: Db, model: string): Promise<boolean> {
  if (model === noModel) return true
  const query = sql.selectFrom('models').select('listed').where('id', '=', model)
  return (await db.first(query.where('deleted_at', 'is', null)))?.listed === 1
}

/** Opens an incident, or reopens the previous one; null if another node just did. `id`: of a new one. */
export async function openAutomaticIncident(
  db: Db,
  about: {
    readonly model: string
    readonly severity: IncidentSeverity
    readonly at: number
    readonly id?: string | undefined
  },
  previous: MonitoredIncident | undefined,
): Promise<Incident | null> {
  const { model, severity, at, id = newId('inc') } = about
  try {
    if (previous !== undefined) return await reopenIncident(db, previous.id, about)
    const row: IncidentsTable = {
      id,
      title: automaticTitle(model),
      status: 'investigating',
      severity,
      models: JSON.stringify(model === noModel ? [] : [model]),
      watched_model: model,
      is_public: (await isPublic(db, model)) ? 1 : 0,
      opened_at: at,
      closed_at: null,
      updated_at: at,
    }
    await db.write(
      sql.insertInto('incidents').values(row),
      postRow(id, { at, status: 'investigating', code: 'failing', message: messageOf(model, 'failing') }),
      auditStatement(auditActor, 'incident.open', id, {
        model: model === noModel ? relayApi : model,
        severity,
      }),
    )
    return await incidentById(db, id)
  } catch (error) {
    if (isUniqueViolation(error, 'incidents.watched_model') || isExpectationFailureOf(error, 0)) return null
    throw error
  }
}

async function reopenIncident(
  db: Db,
  id: string,
  about: { readonly model: string; readonly severity: IncidentSeverity; readonly at: number },
): Promise<Incident> {
  const { model, severity, at } = about
  const message = messageOf(model, 'failing_again')
  const set = { status: 'investigating', severity, closed_at: null, updated_at: at } as const
  const update = sql.updateTable('incidents').set(set).where('id', '=', id)
  await db.write(
    expectChanges(update.where('closed_at', 'is not', null), 1),
    postRow(id, { at, status: 'investigating', code: 'failing_again', message }),
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
  { id, model }: Pick<MonitoredIncident, 'id' | 'model'>,
  code: 'recovered' | 'quiet',
  at: number,
): Promise<Incident | null> {
  const set = { status: 'resolved', closed_at: at, updated_at: at } as const
  const update = sql.updateTable('incidents').set(set).where('id', '=', id).where('closed_at', 'is', null)
  const isClosed = await writeIfFound(
    db,
    update,
    postRow(id, { at, status: 'resolved', code, message: messageOf(model, code) }),
    auditStatement(auditActor, 'incident.close', id, { code }),
  )
  return isClosed ? incidentById(db, id) : null
}
