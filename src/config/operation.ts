/** Settings of operation: availability, notifications and the process. */
import { availableParallelism } from 'node:os'
import {
  cidrList,
  duration,
  flag,
  inGroup,
  integer,
  InvalidSettingError,
  oneOf,
} from '../lib/setting-types.ts'

const defaultTimezone = 'Asia/Shanghai'

/** Objectives, incidents, the public pages. */
export const availabilitySettings = inGroup('Availability', {
  objectivePercent: {
    env: 'AVAILABILITY_OBJECTIVE',
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
    doc: 'The window over which a model’s success rate is evaluated, ten times as long under low traffic. Below the objective, an incident is opened.',
    ...duration('60s', 5000, 180_000),
  },
  incidentMinimum: {
    env: 'INCIDENT_MINIMUM',
    doc: 'The minimum number of failures for an incident.',
    ...integer(5, 1, 1_000_000),
  },
  incidentRecoveryMs: {
    env: 'INCIDENT_RECOVERY',
    doc: 'How long a model must be healthy before its incident is closed.',
    ...duration('30s', 1000, 1_200_000),
  },
  addressCheckMs: {
    env: 'PUBLIC_URL_CHECK',
    doc: 'How often each URL in `PUBLIC_URLS` is checked.',
    ...duration('60s', 1000, 86_400_000),
  },
  statusPage: {
    env: 'STATUS_PAGE',
    doc: 'The public status page `/status`, with `/status.json` and `/status.rss`: the state of the listed models, their last 90 days, and incidents.',
    ...flag('1'),
  },
  publicPrices: {
    env: 'PUBLIC_PRICES',
    doc: 'The public price list `/pricing`, with `/pricing.json`: the listed models and their current prices, without the factors of tiers and accounts.',
    ...flag('0'),
  },
})

/** The delivery of notifications. */
export const notificationSettings = inGroup('Notifications', {
  noticeLanguage: {
    env: 'NOTICE_LANGUAGE',
    doc: 'The language of e-mail notifications to accounts without a console user; a user gets their own language. Channels have a language of their own.',
    ...oneOf('en', ['en', 'zh-CN']),
  },
  noticePauseMs: {
    env: 'NOTICE_PAUSE',
    doc: 'The minimum time between two messages to a channel; notifications in between are combined into the next message.',
    ...duration('30s', 100, 3_600_000),
  },
  channelAllow: {
    env: 'CHANNEL_ALLOW',
    doc: 'Private addresses that notification channels such as webhooks may use, including customers’. All others are rejected when a channel is saved and at each connection.',
    ...cidrList,
  },
})

/** Time zone, workers, demo mode, shutdown. */
export const processSettings = inGroup('Process', {
  timezone: {
    env: 'TIME_ZONE',
    doc: 'The time zone of the operators’ dashboard, and the default for new accounts.',
    allowed: 'an IANA time zone such as `Europe/Berlin`',
    defaultText: defaultTimezone,
    read(text: string | undefined): string {
      try {
        return new Intl.DateTimeFormat('en', { timeZone: text ?? defaultTimezone }).resolvedOptions().timeZone
      } catch {
        throw new InvalidSettingError()
      }
    },
  },
  workers: {
    env: 'WORKERS',
    doc: 'The number of workers that relay requests, each on a thread of its own; a single one runs on the main thread, which costs less per request, but an internal error that nothing catches then ends the process. Always one on systems other than Linux.',
    ...integer(availableParallelism(), 1, 256),
    defaultText: 'number of cores',
  },
  demo: {
    env: 'DEMO',
    doc: 'Demo mode: an upstream that generates deterministic text, the reference models, and an account with a key and credit. Default: on for an empty `DATA_DIR` unless `NODE_ENV=production`. A data directory that was created in demo mode stays in it.',
    allowed: '`1` or `0`',
    defaultText: 'see description',
    read(text: string | undefined): boolean | null {
      if (text === undefined) return null
      if (text !== '1' && text !== '0') throw new InvalidSettingError()
      return text === '1'
    },
  },
  production: {
    env: 'NODE_ENV',
    doc: 'With `production`, an empty `DATA_DIR` starts without demo mode unless `DEMO=1`, and `ADMIN_API_KEY` must have at least 16 characters.',
    allowed: 'text',
    defaultText: 'none',
    read: (text: string | undefined): boolean => text === 'production',
    format: (value: boolean): string | null => (value ? 'production' : null),
  },
  drainDelayMs: {
    env: 'DRAIN_DELAY',
    doc: 'How long the port stays open after SIGTERM while `/readyz` already returns 503.',
    ...duration('5s', 0, 600_000),
  },
  drainGraceMs: {
    env: 'DRAIN_GRACE',
    doc: 'How long active requests may continue after `DRAIN_DELAY`. The remaining ones then end with an error and are settled exactly.',
    ...duration('300s', 0, 86_400_000),
  },
})
