/** What a message says: one notice as it is, several under one title, in the reader's language. */
import type { Message } from '../notifications/webhook-channels.ts'
import type { Notice } from '../notifications/notifications.ts'
import { textOf, type Language } from '../notifications/locales/notification-texts.ts'

const several: Readonly<Record<Language, (count: number) => string>> = {
  en: (count) => `${count} notices`,
  'zh-CN': (count) => `${count} 条通知`,
}
const more: Readonly<Record<Language, (count: number) => string>> = {
  en: (count) => `… and ${count} more in the console.`,
  'zh-CN': (count) => `……另有 ${count} 条，请在控制台查看。`,
}
/** The others are counted; the payload for programs has all. */
const mostTold = 20

function payloadOf(notice: Notice, language: Language): object {
  const { id, kind, severity, subject, code, params, audience, createdAt } = notice
  const account = audience === 'operator' ? null : audience
  const time = new Date(createdAt).toISOString()
  return { id, time, account, kind, severity, subject, code, params, ...textOf(notice, language) }
}

/** `id`: the message's, the same at every try. */
export function messageOf(id: string, notices: readonly Notice[], language: Language): Message {
  const payload = { id, type: 'notices', data: notices.map((notice) => payloadOf(notice, language)) }
  const [only] = notices
  if (only !== undefined && notices.length === 1) return { id, ...textOf(only, language), payload }
  const told = notices.slice(0, mostTold).map((notice) => {
    const { title, text } = textOf(notice, language)
    return `• ${title}\n  ${text}`
  })
  const left = notices.length - told.length
  if (left > 0) told.push(more[language](left))
  return { id, title: several[language](notices.length), text: told.join('\n\n'), payload }
}

const trial: Readonly<Record<Language, { title: string; text: string }>> = {
  en: { title: 'A test message', text: 'This channel works: notices of the relay will come here.' },
  'zh-CN': { title: '测试消息', text: '此通道工作正常：中继的通知将发送到这里。' },
}

/** What the test of a channel sends. */
export function trialMessage(id: string, language: Language): Message {
  return { id, ...trial[language], payload: { id, type: 'test', data: [] } }
}
