/** Settings for the delivery of notifications. */
import { cidrList, duration, oneOf, type Setting } from '../lib/setting-types.ts'

export const notificationSettings = {
  noticeLanguage: {
    env: 'NOTICE_LANGUAGE',
    group: 'Notifications',
    doc: 'The language of e-mail notifications to accounts without a console user; a user gets their own language. Channels have a language of their own.',
    ...oneOf('en', ['en', 'zh-CN']),
  },
  noticePauseMs: {
    env: 'NOTICE_PAUSE',
    group: 'Notifications',
    doc: 'The minimum time between two messages to a channel; notifications in between are combined into the next message.',
    ...duration('30s', 100, 3_600_000),
  },
  channelAllow: {
    env: 'CHANNEL_ALLOW',
    group: 'Notifications',
    doc: 'Private addresses that notification channels such as webhooks may use, including customers’. All others are rejected when a channel is saved and at each connection.',
    ...cidrList,
  },
} as const satisfies Record<string, Setting<unknown>>
