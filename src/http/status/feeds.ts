/** The public status for programs: as JSON, and the updates of incidents as RSS 2.0. */
import { html as markup } from 'hono/html'
import type { Incident } from '../../health/incidents.ts'
import { percentOf, type PublicStatus, type StatusComponent } from './state.ts'
import { toDocument } from '../public-pages/frame.ts'
import { postText, incidentTitle, type StatusMessages } from './locales.ts'

function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}

function incidentView(incident: Incident, messages: StatusMessages): object {
  const { closedAt } = incident
  return {
    id: incident.id,
    title: incidentTitle(incident, messages),
    status: incident.status,
    severity: incident.severity,
    models: incident.models,
    opened_at: timeOf(incident.openedAt),
    closed_at: closedAt === null ? null : timeOf(closedAt),
    updates: incident.posts.map((post) => ({
      id: post.id,
      at: timeOf(post.at),
      status: post.status,
      message: postText(incident, post, messages),
    })),
  }
}

function addressState(isHealthy: boolean | null): 'up' | 'down' | 'unknown' {
  if (isHealthy === null) return 'unknown'
  return isHealthy ? 'up' : 'down'
}

function shareView(success: number | null): number | null {
  return success === null ? null : percentOf(success)
}

function componentView({ state, success, objective, days }: StatusComponent) {
  return {
    state,
    success_percent: shareView(success),
    objective_percent: Number((objective * 100).toFixed(4)),
    days: days.map((day) => ({ date: day.date, success_percent: shareView(day.success) })),
  }
}

export function statusJson(status: PublicStatus, messages: StatusMessages): object {
  return {
    at: timeOf(status.at),
    state: status.state,
    base_urls: status.addresses.map(({ url, isHealthy }) => ({ url, state: addressState(isHealthy) })),
    components: [{ name: messages.relayApi, ...componentView(status.relay) }],
    models: status.models.map((model) => ({ id: model.id, ...componentView(model) })),
    incidents: status.incidents.map((incident) => incidentView(incident, messages)),
  }
}

const maxItems = 50

/** Every update is an item; an incident without updates is one, too. `address`: the URL of the status page. */
export function renderRss(
  { incidents, at }: PublicStatus,
  messages: StatusMessages,
  address: string,
): string {
  const posts = incidents.flatMap((incident) => {
    const title = incidentTitle(incident, messages)
    const { id, openedAt, status } = incident
    if (incident.posts.length === 0) return [{ id, at: openedAt, title, status, text: '' }]
    return incident.posts.map((post) => ({
      id: post.id,
      at: post.at,
      title,
      status: post.status,
      text: postText(incident, post, messages),
    }))
  })
  const newest = posts.toSorted((left, right) => right.at - left.at).slice(0, maxItems)
  const items = newest.map(
    (post) => markup`<item>
<title>${messages.status[post.status]}: ${post.title}</title>
<description>${post.text}</description>
<link>${address}</link>
<guid isPermaLink="false">${post.id}</guid>
<pubDate>${new Date(post.at).toUTCString()}</pubDate>
</item>
`,
  )
  return toDocument(markup`<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0"><channel>
<title>${messages.title}</title>
<link>${address}</link>
<description>${messages.explanation}</description>
<lastBuildDate>${new Date(at).toUTCString()}</lastBuildDate>
${items}</channel></rss>
`)
}
