/** The public status for programs: as JSON, and its posts as RSS 2.0. */
import type { Incident } from '../../health/incidents.ts'
import { percentOf, type PublicStatus } from './state.ts'
import { escaped } from './page.ts'
import { textOfPost, titleOf, type StatusWords } from './locales.ts'

function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}

function incidentView(incident: Incident, words: StatusWords): object {
  const { closedAt } = incident
  return {
    id: incident.id,
    title: titleOf(incident, words),
    status: incident.status,
    severity: incident.severity,
    models: incident.models,
    opened_at: timeOf(incident.openedAt),
    closed_at: closedAt === null ? null : timeOf(closedAt),
    updates: incident.posts.map((post) => ({
      id: post.id,
      at: timeOf(post.at),
      status: post.status,
      message: textOfPost(post, words),
    })),
  }
}

function addressState(isWell: boolean | null): 'up' | 'down' | 'unknown' {
  if (isWell === null) return 'unknown'
  return isWell ? 'up' : 'down'
}

function shareView(success: number | null): number | null {
  return success === null ? null : percentOf(success)
}

export function statusJson(status: PublicStatus, words: StatusWords): object {
  return {
    at: timeOf(status.at),
    state: status.state,
    base_urls: status.addresses.map(({ url, isWell }) => ({ url, state: addressState(isWell) })),
    models: status.models.map((model) => ({
      id: model.id,
      state: model.state,
      success_percent: shareView(model.success),
      objective_percent: Number((model.objective * 100).toFixed(4)),
      days: model.days.map(({ date, success }) => ({ date, success_percent: shareView(success) })),
    })),
    incidents: status.incidents.map((incident) => incidentView(incident, words)),
  }
}

const mostItems = 50

/** Every post is an item; an incident that nobody wrote of is one. `address`: that of the status page. */
export function statusRss({ incidents, at }: PublicStatus, words: StatusWords, address: string): string {
  const posts = incidents.flatMap((incident) => {
    const title = titleOf(incident, words)
    const { id, openedAt, status } = incident
    if (incident.posts.length === 0) return [{ id, at: openedAt, title, status, text: '' }]
    return incident.posts.map((post) => ({
      id: post.id,
      at: post.at,
      title,
      status: post.status,
      text: textOfPost(post, words),
    }))
  })
  const newest = posts.toSorted((left, right) => right.at - left.at).slice(0, mostItems)
  const items = newest.map(
    (post) => `<item>
<title>${escaped(`${words.status[post.status]}: ${post.title}`)}</title>
<description>${escaped(post.text)}</description>
<link>${escaped(address)}</link>
<guid isPermaLink="false">${escaped(post.id)}</guid>
<pubDate>${new Date(post.at).toUTCString()}</pubDate>
</item>`,
  )
  return `<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0"><channel>
<title>${escaped(words.title)}</title>
<link>${escaped(address)}</link>
<description>${escaped(words.explained)}</description>
<lastBuildDate>${new Date(at).toUTCString()}</lastBuildDate>
${items.join('\n')}
</channel></rss>
`
}
