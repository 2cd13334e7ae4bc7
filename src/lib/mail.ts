/** Mail by SMTP, in plain text. */
import { createTransport } from 'nodemailer'

export interface Letter {
  readonly to: string
  readonly subject: string
  readonly text: string
  /** The same at every try, so that a mailbox can tell a repetition. */
  readonly id?: string
}

export interface Mailer {
  /** Resolves when the mail server has taken the letter. */
  send(letter: Letter): Promise<void>
}

const patienceMs = 20_000

/** `url`: smtp or smtps, with user and password where they are needed. */
export function mailerFor(url: string, from: string): Mailer {
  const times = { connectionTimeout: patienceMs, greetingTimeout: patienceMs, socketTimeout: patienceMs }
  const transport = createTransport({ url, ...times })
  const domain = /@([\w.-]+)>?\s*$/.exec(from)?.[1] ?? 'localhost'
  return {
    async send({ id, ...letter }) {
      const messageId = id === undefined ? undefined : `<${id}@${domain}>`
      await transport.sendMail({ from, messageId, ...letter })
    },
  }
}
