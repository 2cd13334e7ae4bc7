/** Settings of availability: objectives, incidents, the status page. */
import { duration, NotAllowed, wholeNumber, type Setting } from '../lib/setting-types.ts'

export const availabilitySettings = {
  objectivePercent: {
    env: 'AVAILABILITY_OBJECTIVE',
    group: 'Availability',
    doc: 'Of a hundred requests that are ours to answer, so many have to be answered, by model and month. A model may have its own.',
    allowed: 'a number from 50 to 99.9999',
    standard: '99.9',
    read(text: string | undefined): number {
      const value = Number(text ?? 99.9)
      if (!(value >= 50 && value <= 99.9999)) throw new NotAllowed()
      return value
    },
  },
  incidentWindowMs: {
    env: 'INCIDENT_WINDOW',
    group: 'Availability',
    doc: 'Over so long a model is judged, and over ten times as long where there is little traffic. When its success falls below the objective, an incident is opened.',
    ...duration('60s', 5000, 180_000),
  },
  incidentMinimum: {
    env: 'INCIDENT_MINIMUM',
    group: 'Availability',
    doc: 'So many failures at least make an incident.',
    ...wholeNumber(5, 1, 1_000_000),
  },
  incidentRecoveryMs: {
    env: 'INCIDENT_RECOVERY',
    group: 'Availability',
    doc: 'A model has to be well for so long until its incident is closed.',
    ...duration('30s', 1000, 1_200_000),
  },
  addressCheckMs: {
    env: 'PUBLIC_URL_CHECK',
    group: 'Availability',
    doc: 'How often each address of `PUBLIC_URLS` is looked at from here.',
    ...duration('60s', 1000, 86_400_000),
  },
  statusPage: {
    env: 'STATUS_PAGE',
    group: 'Availability',
    doc: 'The public page `/status`, with `/status.json` and `/status.rss`: what state the listed models are in, their last 90 days, and what was told of incidents.',
    allowed: '`1` or `0`',
    standard: '1',
    read(text: string | undefined): boolean {
      if (text !== undefined && text !== '1' && text !== '0') throw new NotAllowed()
      return text !== '0'
    },
  },
} as const satisfies Record<string, Setting<unknown>>
