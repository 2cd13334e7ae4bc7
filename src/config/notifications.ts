/** Settings of notices: how they are brought elsewhere. */
import { cidrList, duration, oneOf, type Setting } from '../lib/setting-types.ts'

export const noticeSettings = {
  noticeLanguage: {
    env: 'NOTICE_LANGUAGE',
    group: 'Notices',
    doc: 'The language of notices that go by e-mail to accounts without a person of the console, whose own it is else. Channels have theirs.',
    ...oneOf('en', ['en', 'zh-CN']),
  },
  noticePauseMs: {
    env: 'NOTICE_PAUSE',
    group: 'Notices',
    doc: 'A channel gets one message in so long at most; notices that come meanwhile go together as the next one.',
    ...duration('30s', 100, 3_600_000),
  },
  channelAllow: {
    env: 'CHANNEL_ALLOW',
    group: 'Notices',
    doc: 'Private addresses that notices may be brought to by webhooks and the like, those of customers too. All others are refused when saved and again at each connection.',
    ...cidrList,
  },
} as const satisfies Record<string, Setting<unknown>>
