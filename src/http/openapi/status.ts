/** The public status, as the interface's document tells it. */
import { answer, content, object, text, type Json } from './schemas.ts'

const time = { type: 'string', format: 'date-time' }
const percent = { type: ['number', 'null'], description: 'Of a hundred; null when nothing was asked.' }
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

const language = {
  name: 'lang',
  in: 'query',
  required: false,
  schema: { enum: ['en', 'zh-CN'] },
  description: 'Else the first language of `Accept-Language` that there is.',
}

function open(summary: string, ok: Json): Json {
  const off = { description: 'It is switched off (`STATUS_PAGE=0`).' }
  return {
    get: {
      security: [],
      tags: ['Status'],
      summary,
      parameters: [language],
      responses: { 200: ok, 404: off },
    },
  }
}

export const statusPaths: Json = {
  '/status': open('How the relay is, for people', {
    description: 'A page without scripts.',
    content: content(text, 'text/html'),
  }),
  '/status.json': open('How the relay is: models, 90 days, incidents', answer('As of now.', status)),
  '/status.rss': open('What was told of incidents', {
    description: 'RSS 2.0.',
    content: content(text, 'application/rss+xml'),
  }),
}
