/**
 * Incidents: what is told of a model that does not answer as it should, from the first minute to the last. One is
 * opened and closed by the watch over the models (automatic-incidents.ts) or by hand; each change that people should
 * read is a post.
 */
import { refuse, type Refusal } from '../errors.ts'
import { auditRow } from '../db/audit.ts'
import { expecting, type Db, type Query } from '../db/db.ts'
import {
  sql,
  type IncidentPostsTable,
  type IncidentsTable,
  type IncidentStatus,
} from '../db/schema/schema.ts'
import { isUnmet } from '../db/store-error.ts'
import { newId } from '../lib/ids.ts'

export type { IncidentStatus }
export type IncidentSeverity = IncidentsTable['severity']
export type PostCode = NonNullable<IncidentPostsTable['code']>

export interface IncidentPost {
  readonly id: string
  readonly at: number
  readonly status: IncidentStatus
  /** What the relay itself told; null for a person's own words. */
  readonly code: PostCode | null
  readonly message: string
}

export interface Incident {
  readonly id: string
  readonly title: string
  readonly status: IncidentStatus
  readonly severity: IncidentSeverity
  /** Names of models; none is the whole service. */
  readonly models: readonly string[]
  /** The model that opened it and will close it; null when it was opened by hand. */
  readonly watchedModel: string | null
  readonly isPublic: boolean
  readonly openedAt: number
  readonly closedAt: number | null
  readonly updatedAt: number
  /** Newest first. */
  readonly posts: readonly IncidentPost[]
}

export interface IncidentPatch {
  readonly title?: string
  readonly status?: IncidentStatus
  readonly severity?: IncidentSeverity
  readonly models?: readonly string[]
  readonly isPublic?: boolean
  /** A new post. */
  readonly message?: string
}

export interface IncidentInput extends IncidentPatch {
  readonly title: string
  readonly openedAt?: number
}

const mostModels = 200

export function noSuchIncident(): Refusal {
  return refuse('not_found', { message: 'There is no such incident.' })
}

function text(value: string, param: string, most: number): string {
  const clean = value.trim()
  if (clean.length >= 1 && clean.length <= most) return clean
  throw refuse('invalid_request', { param, message: `${param} has to be 1 to ${most} characters.` })
}

function modelNames(names: readonly string[]): string {
  if (names.length > mostModels || names.some((name) => name === '' || name.length > 256)) {
    const message = `models has to be at most ${mostModels} names.`
    throw refuse('invalid_request', { param: 'models', message })
  }
  return JSON.stringify([...new Set(names)])
}

export function postRow(incidentId: string, post: Omit<IncidentPost, 'id'>): Query {
  return sql.insertInto('incident_posts').values({ id: newId('post'), incident_id: incidentId, ...post })
}

/** Refuses with 400 naming the field. */
export async function createIncident(db: Db, input: IncidentInput, by: string): Promise<Incident> {
  const now = Date.now()
  const status = input.status ?? 'investigating'
  const openedAt = input.openedAt ?? now
  if (openedAt > now) {
    const message = 'opened_at lies in the future.'
    throw refuse('invalid_request', { param: 'opened_at', message })
  }
  const row: IncidentsTable = {
    id: newId('inc'),
    title: text(input.title, 'title', 200),
    status,
    severity: input.severity ?? 'minor',
    models: modelNames(input.models ?? []),
    watched_model: null,
    is_public: input.isPublic === false ? 0 : 1,
    opened_at: openedAt,
    closed_at: status === 'resolved' ? now : null,
    updated_at: now,
  }
  await db.write(
    sql.insertInto('incidents').values(row),
    ...postOf(row.id, input, { at: now, status }),
    auditRow(by, 'incident.create', row.id, row),
  )
  return incidentById(db, row.id)
}

function postOf(
  id: string,
  { message }: IncidentPatch,
  about: { readonly at: number; readonly status: IncidentStatus },
): Query[] {
  return message === undefined
    ? []
    : [postRow(id, { ...about, code: null, message: text(message, 'message', 5000) })]
}

/** Refuses with 404 for an unknown id and 400 naming the field. `resolved` closes it, anything else opens it again. */
export async function updateIncident(
  db: Db,
  id: string,
  patch: IncidentPatch,
  by: string,
): Promise<Incident> {
  const before = await incidentById(db, id)
  const now = Date.now()
  const status = patch.status ?? before.status
  const set: Partial<IncidentsTable> = { status, updated_at: now }
  if (patch.title !== undefined) set.title = text(patch.title, 'title', 200)
  if (patch.severity !== undefined) set.severity = patch.severity
  if (patch.models !== undefined) set.models = modelNames(patch.models)
  if (patch.isPublic !== undefined) set.is_public = patch.isPublic ? 1 : 0
  set.closed_at = status === 'resolved' ? (before.closedAt ?? now) : null
  // Of a model, one incident is open at most: what is opened again by hand is closed by hand.
  if (before.closedAt !== null && set.closed_at === null) set.watched_model = null
  try {
    await db.write(
      expecting(sql.updateTable('incidents').set(set).where('id', '=', id), 1),
      ...postOf(id, patch, { at: now, status }),
      auditRow(by, 'incident.update', id, { ...set, message: patch.message }),
    )
  } catch (error) {
    throw isUnmet(error, 0) ? noSuchIncident() : error
  }
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
    id: row.id,
    title: row.title,
    status: row.status,
    severity: row.severity,
    models: JSON.parse(row.models) as string[],
    watchedModel: row.watched_model,
    isPublic: row.is_public === 1,
    openedAt: row.opened_at,
    closedAt: row.closed_at,
    updatedAt: row.updated_at,
    posts: (postsBy.get(row.id) ?? []).map(({ incident_id: _incident, ...post }) => post),
  }))
}

/** Refuses with 404 for an unknown id. */
export async function incidentById(db: Db, id: string): Promise<Incident> {
  const rows = await db.all(sql.selectFrom('incidents').selectAll().where('id', '=', id))
  const [incident] = await withPosts(db, rows)
  if (incident === undefined) throw noSuchIncident()
  return incident
}

export interface IncidentFilter {
  readonly isOpen?: boolean
  readonly isPublic?: boolean
  /** Open, or closed at or after this moment. */
  readonly since?: number
  readonly limit: number
  /** Opened before this moment, or in it with a smaller id. */
  readonly below?: { readonly openedAt: number; readonly id: string }
}

/** The one opened last comes first. */
export async function listIncidents(db: Db, filter: IncidentFilter): Promise<Incident[]> {
  const { isOpen, isPublic, since, below } = filter
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
  if (below !== undefined)
    query = query.where((build) =>
      build(build.refTuple('opened_at', 'id'), '<', build.tuple(below.openedAt, below.id)),
    )
  return withPosts(db, await db.all(query))
}
