/**
 * Incidents: the record of an outage or degradation. They are opened and closed by the incident monitor
 * (automatic-incidents.ts) or manually; each change that is announced is a post.
 */
import { fieldsOf, type RowFields } from '../db/row-fields.ts'
import { apiError, notFound } from '../errors.ts'
import { auditStatement } from '../db/audit.ts'
import { auditChanges, auditFields } from '../db/audit-changes.ts'
import { type Db, type Query, writeIfFound } from '../db/db.ts'
import {
  sql,
  type IncidentPostsTable,
  type IncidentsTable,
  type IncidentStatus,
} from '../db/schema/schema.ts'
import { newId } from '../lib/ids.ts'

export type { IncidentStatus }
export type IncidentSeverity = IncidentsTable['severity']
export type PostCode = NonNullable<IncidentPostsTable['code']>

export type IncidentPost = Readonly<Omit<IncidentPostsTable, 'incident_id'>>

export interface Incident extends Omit<RowFields<IncidentsTable>, 'models' | 'isPublic'> {
  readonly models: readonly string[]
  readonly isPublic: boolean
  /** Newest first. */
  readonly posts: readonly IncidentPost[]
}

export interface IncidentPatch extends Partial<
  Pick<Incident, 'title' | 'status' | 'severity' | 'models' | 'isPublic'>
> {
  /** A new post. */
  readonly message?: string
}

export interface IncidentInput extends IncidentPatch {
  readonly title: string
  readonly openedAt?: number
}

const maxModels = 200

function validateText(value: string, param: string, maxLength: number): string {
  const trimmed = value.trim()
  if (trimmed.length >= 1 && trimmed.length <= maxLength) return trimmed
  throw apiError('invalid_request', {
    param,
    message: `Invalid \`${param}\`: must be 1 to ${maxLength} characters.`,
  })
}

function encodeModels(names: readonly string[]): string {
  if (names.length > maxModels || names.some((name) => name === '' || name.length > 256)) {
    const message = `Invalid \`models\`: must be at most ${maxModels} names.`
    throw apiError('invalid_request', { param: 'models', message })
  }
  return JSON.stringify([...new Set(names)])
}

/** An incident as the audit log has it. */
function auditedIncident({ title, status, severity, models, is_public: isPublic }: IncidentsTable): object {
  return { title, status, severity, models: JSON.parse(models) as unknown, public: isPublic === 1 }
}

export function postRow(incidentId: string, post: Omit<IncidentPost, 'id'>): Query {
  return sql.insertInto('incident_posts').values({ id: newId('post'), incident_id: incidentId, ...post })
}

/** Throws 400 naming the field. */
export async function createIncident(db: Db, input: IncidentInput, by: string): Promise<Incident> {
  const now = Date.now()
  const status = input.status ?? 'investigating'
  const openedAt = input.openedAt ?? now
  if (openedAt > now) {
    const message = 'Invalid `opened_at`: must not be in the future.'
    throw apiError('invalid_request', { param: 'opened_at', message })
  }
  const row: IncidentsTable = {
    id: newId('inc'),
    title: validateText(input.title, 'title', 200),
    status,
    severity: input.severity ?? 'minor',
    models: encodeModels(input.models ?? []),
    watched_model: null,
    is_public: input.isPublic === false ? 0 : 1,
    opened_at: openedAt,
    closed_at: status === 'resolved' ? now : null,
    updated_at: now,
  }
  await db.write(
    sql.insertInto('incidents').values(row),
    ...newPostRows(row.id, input, { at: now, status }),
    auditStatement(by, 'incident.create', row.id, auditFields({ ...auditedIncident(row), openedAt })),
  )
  return incidentById(db, row.id)
}

function newPostRows(
  id: string,
  { message }: IncidentPatch,
  about: { readonly at: number; readonly status: IncidentStatus },
): Query[] {
  return message === undefined
    ? []
    : [postRow(id, { ...about, code: null, message: validateText(message, 'message', 5000) })]
}

/**
 * Throws 404 for an unknown id and 400 naming the field. `resolved` closes the incident, any other status reopens it. A
 * patch that changes nothing writes nothing.
 */
export async function updateIncident(
  db: Db,
  id: string,
  patch: IncidentPatch,
  by: string,
): Promise<Incident> {
  const before = await db.first(sql.selectFrom('incidents').selectAll().where('id', '=', id))
  if (before === undefined) throw notFound('Incident')
  const now = Date.now()
  const status = patch.status ?? before.status
  const set: Partial<IncidentsTable> = { status, updated_at: now }
  if (patch.title !== undefined) set.title = validateText(patch.title, 'title', 200)
  if (patch.severity !== undefined) set.severity = patch.severity
  if (patch.models !== undefined) set.models = encodeModels(patch.models)
  if (patch.isPublic !== undefined) set.is_public = patch.isPublic ? 1 : 0
  set.closed_at = status === 'resolved' ? (before.closed_at ?? now) : null
  // At most one automatic incident per model is open: one that is reopened manually is closed manually.
  if (before.closed_at !== null && set.closed_at === null) set.watched_model = null
  const changes = auditChanges(auditedIncident(before), auditedIncident({ ...before, ...set }))
  if (changes === null && patch.message === undefined) return incidentById(db, id)
  const isUpdated = await writeIfFound(
    db,
    sql.updateTable('incidents').set(set).where('id', '=', id),
    ...newPostRows(id, patch, { at: now, status }),
    auditStatement(by, 'incident.update', id, { ...changes, message: patch.message }),
  )
  if (!isUpdated) throw notFound('Incident')
  return incidentById(db, id)
}

async function withPosts(db: Db, rows: readonly IncidentsTable[]): Promise<Incident[]> {
  if (rows.length === 0) return []
  const ids = rows.map(({ id }) => id)
  const posts = await db.all(
    sql.selectFrom('incident_posts').selectAll().where('incident_id', 'in', ids).orderBy('id', 'desc'),
  )
  const postsBy = Map.groupBy(posts, (post) => post.incident_id)
  return rows.map((row) => ({
    ...fieldsOf(row),
    models: JSON.parse(row.models) as string[],
    isPublic: row.is_public === 1,
    posts: (postsBy.get(row.id) ?? []).map(({ incident_id: _incident, ...post }) => post),
  }))
}

/** Throws 404 for an unknown id. */
export async function incidentById(db: Db, id: string): Promise<Incident> {
  const rows = await db.all(sql.selectFrom('incidents').selectAll().where('id', '=', id))
  const [incident] = await withPosts(db, rows)
  if (incident === undefined) throw notFound('Incident')
  return incident
}

export interface IncidentFilter {
  readonly isOpen?: boolean
  readonly isPublic?: boolean
  /** Open, or closed at or after this time. */
  readonly since?: number
  readonly limit: number
  /** Opened before this time, or at it with a smaller id. */
  readonly before?: { readonly openedAt: number; readonly id: string }
}

/** The most recently opened first. */
export async function listIncidents(db: Db, filter: IncidentFilter): Promise<Incident[]> {
  const { isOpen, isPublic, since, before } = filter
  let query = sql
    .selectFrom('incidents')
    .selectAll()
    .orderBy('opened_at', 'desc')
    .orderBy('id', 'desc')
    .limit(filter.limit)
  if (isOpen !== undefined) query = query.where('closed_at', isOpen ? 'is' : 'is not', null)
  if (isPublic !== undefined) query = query.where('is_public', '=', isPublic ? 1 : 0)
  if (since !== undefined)
    query = query.where((build) =>
      build.or([build('closed_at', 'is', null), build('closed_at', '>=', since)]),
    )
  if (before !== undefined)
    query = query.where((build) =>
      build(build.refTuple('opened_at', 'id'), '<', build.tuple(before.openedAt, before.id)),
    )
  return withPosts(db, await db.all(query))
}
