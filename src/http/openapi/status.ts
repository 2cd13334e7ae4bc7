/** The description of the public status page for `/openapi.json`. */
import { jsonResponse, content, object, text, type Json } from './schemas.ts'

const time = { type: 'string', format: 'date-time' }
const percent = { type: ['number', 'null'], description: 'In percent; null without requests.' }
const state = { enum: ['up', 'degraded', 'down'] }
const incidentStatus = { enum: ['investigating', 'identified', 'monitoring', 'resolved'] }

function list(items: Json): Json {
  return { type: 'array', items }
}

const status = object({
  at: time,
  state,
  base_urls: list(object({ url: text, state: { enum: ['up', 'down', 'unknown'] } })),
  models: list(
    object({
      id: text,
      state,
      success_percent: percent,
      objective_percent: { type: 'number' },
      days: list(object({ date: { type: 'string', format: 'date' }, success_percent: percent })),
    }),
  ),
  incidents: list(
    object({
      id: text,
      title: text,
      status: incidentStatus,
      severity: { enum: ['minor', 'major', 'critical'] },
      models: list(text),
      opened_at: time,
      closed_at: { ...time, type: ['string', 'null'] },
      updates: list(object({ id: text, at: time, status: incidentStatus, message: text })),
    }),
  ),
})

export const language = {
  name: 'lang',
  in: 'query',
  required: false,
  schema: { enum: ['en', 'zh-CN'] },
  description: 'Default: the preferred language in `Accept-Language` that is available.',
}

interface PublicOperation {
  readonly off: string
  readonly tag: string
  readonly parameters: readonly Json[]
}

const statusOperation: PublicOperation = {
  off: 'The status page is disabled (`STATUS_PAGE=0`).',
  tag: 'Status',
  parameters: [language],
}

/** A page that needs no key. */
export function publicOperation(summary: string, ok: Json, { off, tag, parameters } = statusOperation): Json {
  const responses = { 200: ok, 404: { description: off } }
  return { get: { security: [], tags: [tag], summary, parameters, responses } }
}

export const statusPaths: Json = {
  '/status': publicOperation('Status page', {
    description: 'An HTML page without scripts.',
    content: content(text, 'text/html'),
  }),
  '/status.json': publicOperation(
    'Status as JSON: models, 90 days, incidents',
    jsonResponse('The current status.', status),
  ),
  '/status.rss': publicOperation('Updates of incidents as RSS', {
    description: 'RSS 2.0.',
    content: content(text, 'application/rss+xml'),
  }),
}
