/** Mail by SMTP, in plain text. */
import { createTransport } from 'nodemailer'

export interface Letter {
  readonly to: string
  readonly subject: string
  readonly text: string
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
  return { send: async (letter) => void (await transport.sendMail({ from, ...letter })) }
}
