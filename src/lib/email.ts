/** Mail by SMTP, in plain text. */
import type { Transporter } from 'nodemailer'

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
  // Loaded with the first letter: most starts send none.
  let transport: Promise<Transporter> | undefined
  const opened = async (): Promise<Transporter> => {
    const { createTransport } = await import('nodemailer')
    return createTransport({ url, ...times })
  }
  const domain = /@([\w.-]+)>?\s*$/.exec(from)?.[1] ?? 'localhost'
  return {
    async send({ id, ...letter }) {
      const messageId = id === undefined ? undefined : `<${id}@${domain}>`
      await (await (transport ??= opened())).sendMail({ from, messageId, ...letter })
    },
  }
}
