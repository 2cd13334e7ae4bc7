/** Puts the name of the service into the subject of e-mails, and its support contact below them. */
import type { Email, EmailSender } from '../lib/email.ts'
import type { Branding } from './branding.ts'

const texts = {
  en: { subject: (name: string, subject: string) => `[${name}] ${subject}`, support: 'Support: ' },
  'zh-CN': { subject: (name: string, subject: string) => `【${name}】${subject}`, support: '联系客服：' },
} as const

function brandEmail(email: Email, { name, support }: Branding, language: keyof typeof texts): Email {
  const t = texts[language]
  const footer = [
    ...(name === null ? [] : [name]),
    ...(support === null ? [] : [t.support + support.contact]),
    ...(support?.text ? [support.text] : []),
  ]
  return {
    ...email,
    subject: name === null ? email.subject : t.subject(name, email.subject),
    // Mail programs recognize the line `-- ` as the beginning of a signature (RFC 3676, 4.3).
    text: footer.length === 0 ? email.text : `${email.text.trimEnd()}\n\n-- \n${footer.join('\n')}\n`,
  }
}

/** Sends in the name of the service, to a reader of this language. */
export function brandedSender(
  sender: EmailSender,
  branding: Branding,
  language: keyof typeof texts,
): EmailSender {
  return { send: (email) => sender.send(brandEmail(email, branding, language)) }
}
