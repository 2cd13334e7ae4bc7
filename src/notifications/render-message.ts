/** Renders a message in the reader's language: a single notification as it is, several under one title. */
import type { ChannelMessage } from './webhook-channels.ts'
import type { Notification } from './notifications.ts'
import { renderText, type Language } from './locales/notification-texts.ts'

const digestTitles: Readonly<Record<Language, (count: number) => string>> = {
  en: (count) => `${count} notifications`,
  'zh-CN': (count) => `${count} 条通知`,
}
const moreTexts: Readonly<Record<Language, (count: number) => string>> = {
  en: (count) => `… and ${count} more in the console.`,
  'zh-CN': (count) => `……还有 ${count} 条，请在控制台查看。`,
}
/** Further ones are only counted. The payload for programs contains all. */
const maxListed = 20

function payloadOf(notification: Notification, language: Language): object {
  const { id, kind, severity, subject, code, params, audience, createdAt } = notification
  const account = audience === 'operator' ? null : audience
  const time = new Date(createdAt).toISOString()
  return { id, time, account, kind, severity, subject, code, params, ...renderText(notification, language) }
}

/** `id` is the message's id, the same at every attempt. */
export function renderMessage(
  id: string,
  notifications: readonly Notification[],
  language: Language,
): ChannelMessage {
  const payload = {
    id,
    type: 'notices',
    data: notifications.map((notification) => payloadOf(notification, language)),
  }
  const [only] = notifications
  if (only !== undefined && notifications.length === 1) return { id, ...renderText(only, language), payload }
  const entries = notifications.slice(0, maxListed).map((notification) => {
    const { title, text } = renderText(notification, language)
    return `• ${title}\n  ${text}`
  })
  const remaining = notifications.length - entries.length
  if (remaining > 0) entries.push(moreTexts[language](remaining))
  return { id, title: digestTitles[language](notifications.length), text: entries.join('\n\n'), payload }
}

const testTexts: Readonly<Record<Language, { title: string; text: string }>> = {
  en: { title: 'Test message', text: 'This channel works. Notifications will be delivered here.' },
  'zh-CN': { title: '测试消息', text: '此渠道可正常使用，通知将发送到这里。' },
}

/** What a test of a channel sends. */
export function testMessage(id: string, language: Language): ChannelMessage {
  return { id, ...testTexts[language], payload: { id, type: 'test', data: [] } }
}
