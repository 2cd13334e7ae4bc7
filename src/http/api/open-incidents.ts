/** Open incidents as the first pages of the console show them: with a title in each language. */
import { z } from 'zod'
import { withOutageIncident } from '../../health/automatic-incidents.ts'
import { listIncidents, type Incident } from '../../health/incidents.ts'
import type { AppContext } from '../app-context.ts'
import { incidentTitle, statusMessages } from '../status/locales.ts'
import { language, time } from './json-schemas.ts'
import { formatTime } from './json-values.ts'

const maxIncidents = 100

export const openIncident = z.object({
  id: z.string(),
  /** By language. */
  title: z.record(language, z.string()),
  severity: z.enum(['minor', 'major', 'critical']),
  /** Empty: the whole service. */
  models: z.array(z.string()).readonly(),
  opened_at: time,
})
export type OpenIncident = z.infer<typeof openIncident>

/** Newest first, with that of a current outage if the store could not take it yet. */
export async function listOpenIncidents(
  ctx: AppContext,
  filter: { readonly isPublic?: boolean } = {},
): Promise<readonly Incident[]> {
  const incidents = await listIncidents(ctx.db, { ...filter, isOpen: true, limit: maxIncidents })
  return withOutageIncident(incidents, ctx.admissionOutage(), Date.now())
}

export function serializeOpenIncident(incident: Incident): OpenIncident {
  const { id, severity, models, openedAt } = incident
  const title = {
    en: incidentTitle(incident, statusMessages.en),
    'zh-CN': incidentTitle(incident, statusMessages['zh-CN']),
  }
  return { id, title, severity, models, opened_at: formatTime(openedAt) }
}
