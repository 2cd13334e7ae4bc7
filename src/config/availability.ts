/** Settings for availability: objectives, incidents, the status page. */
import { duration, InvalidSettingError, integer, type Setting } from '../lib/setting-types.ts'

export const availabilitySettings = {
  objectivePercent: {
    env: 'AVAILABILITY_OBJECTIVE',
    group: 'Availability',
    doc: 'The availability objective: the percentage of valid requests that must succeed, per model and month. A model may have its own.',
    allowed: 'a number from 50 to 99.9999',
    defaultText: '99.9',
    read(text: string | undefined): number {
      const value = Number(text ?? 99.9)
      if (!(value >= 50 && value <= 99.9999)) throw new InvalidSettingError()
      return value
    },
  },
  incidentWindowMs: {
    env: 'INCIDENT_WINDOW',
    group: 'Availability',
    doc: 'The window over which a model’s success rate is evaluated, ten times as long under low traffic. Below the objective, an incident is opened.',
    ...duration('60s', 5000, 180_000),
  },
  incidentMinimum: {
    env: 'INCIDENT_MINIMUM',
    group: 'Availability',
    doc: 'The minimum number of failures for an incident.',
    ...integer(5, 1, 1_000_000),
  },
  incidentRecoveryMs: {
    env: 'INCIDENT_RECOVERY',
    group: 'Availability',
    doc: 'How long a model must be healthy before its incident is closed.',
    ...duration('30s', 1000, 1_200_000),
  },
  addressCheckMs: {
    env: 'PUBLIC_URL_CHECK',
    group: 'Availability',
    doc: 'How often each URL in `PUBLIC_URLS` is checked.',
    ...duration('60s', 1000, 86_400_000),
  },
  statusPage: {
    env: 'STATUS_PAGE',
    group: 'Availability',
    doc: 'The public status page `/status`, with `/status.json` and `/status.rss`: the state of the listed models, their last 90 days, and incidents.',
    allowed: '`1` or `0`',
    defaultText: '1',
    read(text: string | undefined): boolean {
      if (text !== undefined && text !== '1' && text !== '0') throw new InvalidSettingError()
      return text !== '0'
    },
  },
} as const satisfies Record<string, Setting<unknown>>
