/** Notifications of incidents: to the operators, and for public incidents to accounts that opted in. */
import type { RowFields } from '../db/row-fields.ts'
import type { Db } from '../db/db.ts'
import { sql, type IncidentPostsTable, type IncidentsTable } from '../db/schema/schema.ts'
import { operatorAudience } from './notification-kinds.ts'
import { raiseNotification, type NotificationInput } from './notifications.ts'

interface IncidentNotification extends Pick<NotificationInput, 'code' | 'severity' | 'params'> {
  /** The incident's id. */
  readonly incident: string
  /** The state that is notified, once each. */
  readonly period: string
  readonly isPublic: boolean
}

const accountsPerBatch = 200

/** Accounts with a chosen channel for incidents. */
async function subscribers(db: Db): Promise<string[]> {
  const rows = await db.all(
    sql
      .selectFrom('notice_preferences')
      .innerJoin('accounts', 'accounts.id', 'notice_preferences.audience')
      .select('accounts.id')
      .where('kind', '=', 'incident')
      .where('channels', '!=', '[]')
      .where('accounts.status', '=', 'active'),
  )
  return rows.map(({ id }) => id)
}

async function notifyIncident(db: Db, notification: IncidentNotification): Promise<void> {
  const { incident, isPublic, ...common } = notification
  const notificationFor = (audience: string): NotificationInput => ({
    ...common,
    audience,
    kind: 'incident',
    subject: `incident:${incident}`,
  })
  await raiseNotification(db, notificationFor(operatorAudience))
  if (!isPublic) return
  const accounts = await subscribers(db)
  for (let first = 0; first < accounts.length; first += accountsPerBatch)
    await raiseNotification(db, ...accounts.slice(first, first + accountsPerBatch).map(notificationFor))
}

/** The part of an incident (health/incidents.ts) that notifications are made from. */
interface Incident extends Omit<RowFields<IncidentsTable>, 'status' | 'models' | 'isPublic'> {
  readonly isPublic: boolean
  /** Newest first. */
  readonly posts: readonly Readonly<Omit<IncidentPostsTable, 'incident_id'>>[]
}

const severities = { minor: 'warning', major: 'warning', critical: 'critical' } as const

function automaticCode({ watchedModel, closedAt, posts }: Incident): NotificationInput['code'] {
  const isClosed = closedAt !== null
  if (watchedModel === '') return isClosed ? 'relay_well' : 'relay_failing'
  if (!isClosed) return 'model_failing'
  return posts[0]?.code === 'quiet' ? 'model_quiet' : 'model_well'
}

/** Notifies of an incident that the incident monitor has opened or closed. */
export async function notifyAutomaticIncident(db: Db, incident: Incident): Promise<void> {
  const { id, isPublic, updatedAt, posts } = incident
  const isClosed = incident.closedAt !== null
  // A reopened incident counts from when it was reopened.
  const startedAt = posts.find(({ code }) => code === 'failing' || code === 'failing_again')?.at
  await notifyIncident(db, {
    incident: id,
    isPublic,
    period: String(updatedAt),
    severity: isClosed ? 'info' : severities[incident.severity],
    code: automaticCode(incident),
    params: {
      // Of the relay's own API there is none.
      ...(incident.watchedModel === '' ? {} : { model: incident.watchedModel ?? '' }),
      since: new Date(startedAt ?? incident.openedAt).toISOString(),
      until: new Date(updatedAt).toISOString(),
    },
  })
}

/** Notifies of an operator's latest post, if there is one. */
export async function notifyIncidentPost(db: Db, incident: Incident): Promise<void> {
  const [post] = incident.posts
  if (post === undefined) return
  await notifyIncident(db, {
    incident: incident.id,
    isPublic: incident.isPublic,
    period: post.id,
    severity: post.status === 'resolved' ? 'info' : severities[incident.severity],
    code: `incident_${post.status}`,
    params: { title: incident.title, message: post.message },
  })
}
