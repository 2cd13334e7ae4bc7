/** What people are told of an incident, whoever changed it: the watch over the models, or a person. */
import type { Db } from '../db/db.ts'
import type { Incident } from '../health/incidents.ts'
import { tellOfIncident } from '../notices/incident-notices.ts'

const severities = { minor: 'warning', major: 'warning', critical: 'critical' } as const

/** An incident that the watch over the models has just opened or closed. */
export async function tellAutomatic(db: Db, incident: Incident): Promise<void> {
  const { id, isPublic, updatedAt, posts } = incident
  const isOver = incident.closedAt !== null
  const ending = posts[0]?.code === 'quiet' ? 'model_quiet' : 'model_well'
  // Opened again, it fails since then.
  const began = posts.find(({ code }) => code === 'failing' || code === 'failing_again')?.at
  await tellOfIncident(db, {
    incident: id,
    isPublic,
    period: String(updatedAt),
    severity: isOver ? 'info' : severities[incident.severity],
    code: isOver ? ending : 'model_failing',
    params: {
      model: incident.watchedModel ?? '',
      since: new Date(began ?? incident.openedAt).toISOString(),
      until: new Date(updatedAt).toISOString(),
    },
  })
}

/** What a person wrote of it, if anything. */
export async function tellPost(db: Db, incident: Incident): Promise<void> {
  const [post] = incident.posts
  if (post === undefined) return
  await tellOfIncident(db, {
    incident: incident.id,
    isPublic: incident.isPublic,
    period: post.id,
    severity: post.status === 'resolved' ? 'info' : severities[incident.severity],
    code: `incident_${post.status}`,
    params: { title: incident.title, message: post.message },
  })
}
